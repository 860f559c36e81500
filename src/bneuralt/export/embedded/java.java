static double square(double z) {
    return z * z;
}

static double exp(double z) {
    return Math.exp(Math.max(Math.min(z, 708.0), -708.0));
}

static double sigmoid(double z) {
    return 1.0 / (1.0 + exp(-z));
}

static double ifMissing(double value, double other) {
    return Double.isNaN(value) ? other : value;
}

static double largest(double... values) {
    return java.util.Arrays.stream(values).max().getAsDouble();
}

static double ordered(int place, double... values) {
    java.util.Arrays.sort(values);
    return values[place];
}

static int firstLargest(double... values) {
    int best = 0;
    for (int i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
    return best;
}

static boolean isIn(String text, String... texts) {
    return java.util.Arrays.asList(texts).contains(text);
}

/** The number of a text in a table, which has the length of each text, the text, and its number. */
static double find(String text, double unknown, String... parts) {
    return TABLES.computeIfAbsent(java.util.List.of(parts), key -> table(parts)).getOrDefault(text, unknown);
}
static final java.util.Map<java.util.List<String>, java.util.Map<String, Double>> TABLES = new java.util.concurrent.ConcurrentHashMap<>();
static java.util.Map<String, Double> table(String... parts) {
    java.util.Map<String, Double> numbers = new java.util.HashMap<>();
    for (String part : parts) {
        for (int at = 0; at < part.length();) {
            int start = part.indexOf(' ', at) + 1;
            int end = start + Integer.parseInt(part.substring(at, start - 1));
            at = part.indexOf(' ', end) + 1;
            numbers.put(part.substring(start, end), Double.parseDouble(part.substring(end, at - 1)));
        }
    }
    return numbers;
}

/** The text of a cell without blanks; empty if it is missing. */
static String word(Object cell, String... gaps) {
    if (cell == null || cell instanceof Double && ((Double) cell).isNaN()) return "";
    String text = cell.toString().replaceAll("^[\\s\\p{Z}]+|[\\s\\p{Z}]+$", "");
    boolean isGap = isIn(text.toLowerCase(java.util.Locale.ROOT), MISSING) || text.equals("None");
    return isGap || isIn(text, gaps) ? "" : text;
}

static IllegalArgumentException wrong(String text, String name, String kind) {
    return new IllegalArgumentException("column \"" + name + "\": " + text + " is not a " + kind);
}

static double decimal(String text, String name) {
    if (text.matches("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?")) {
        double value = Double.parseDouble(text);
        if (!Double.isInfinite(value)) return value;
    }
    throw wrong(text, name, "number");
}

static double number(Object cell, String name, String... gaps) {
    if (cell instanceof Number) return ((Number) cell).doubleValue();
    String text = word(cell, gaps);
    if (text.isEmpty()) return Double.NaN;
    if (text.equalsIgnoreCase("true")) return 1.0;
    return text.equalsIgnoreCase("false") ? 0.0 : decimal(text, name);
}

static double amount(Object cell, String name, String point, String thousands, String before, String behind, String... gaps) {
    if (cell instanceof Number) return ((Number) cell).doubleValue();
    String text = word(cell, gaps).replaceAll("[\\s\\p{Z}]", " ");
    if (text.isEmpty()) return Double.NaN;
    String first = before.isEmpty() ? "(?!)" : java.util.regex.Pattern.quote(before);
    String last = behind.isEmpty() ? "(?!)" : java.util.regex.Pattern.quote(behind);
    String[] forms = {
        "([+-]?) *" + first + " *(-?)([0-9.,' ]+)", "([+-]?) *()([0-9.,' ]+?) *" + last,
        "([+-]?) *()([0-9.,' ]+(?:[eE][+-]?[0-9]+)?)",
    };
    for (String form : forms) {
        java.util.regex.Matcher match = java.util.regex.Pattern.compile(form).matcher(text);
        if (!match.matches() || !match.group(1).isEmpty() && !match.group(2).isEmpty()) continue;
        String digits = match.group(3);
        if (!thousands.isEmpty() && digits.contains(thousands)) {
            String sep = java.util.regex.Pattern.quote(thousands);
            String whole = digits.split(java.util.regex.Pattern.quote(point), 2)[0];
            if (!whole.matches("[0-9]{1,3}(" + sep + "[0-9]{3})+")) throw wrong(text, name, "number");
            digits = digits.replace(thousands, "");
        }
        if (!point.equals(".") && digits.contains(point)) {
            if (digits.contains(".")) throw wrong(text, name, "number");
            digits = digits.replace(point, ".");
        }
        double value = decimal(digits, name);
        return match.group(1).equals("-") || match.group(2).equals("-") ? -value : value;
    }
    throw wrong(text, name, "number");
}

static double clock(Object cell, String name, String... gaps) {
    if (cell instanceof Number) return ((Number) cell).doubleValue();
    String text = word(cell, gaps);
    if (text.isEmpty()) return Double.NaN;
    if (!text.matches("[0-9]{1,2}:[0-5][0-9](:[0-5][0-9](\\.[0-9]+)?)?")) throw wrong(text, name, "time");
    String[] parts = (text + ":00").split(":");
    double seconds = Double.parseDouble(parts[2].substring(0, 2));
    return Double.parseDouble(parts[0]) + Double.parseDouble(parts[1]) / 60 + seconds / 3600;
}

static String text(Object cell) {
    if (cell instanceof Number) {
        double value = ((Number) cell).doubleValue();
        if (Double.isNaN(value)) return "";
        if (value == Math.rint(value)) return new java.math.BigDecimal(value).toBigInteger().toString();
        return new java.math.BigDecimal(Double.toString(value)).stripTrailingZeros().toPlainString();
    }
    String text = word(cell);
    return text.matches("[+-]?[0-9]+\\.0*") ? text.substring(0, text.indexOf('.')) : text;
}

/** Year, month, day, weekday (Monday is 0), hour and the days since 1970. */
static double[] date(Object cell, String name, boolean dayFirst, String... gaps) {
    String text = word(cell, gaps);
    if (text.isEmpty()) return new double[] {Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN};
    String time = "(?:[ T]([01]?[0-9]|2[0-3]):[0-5][0-9]";
    String iso = "([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})" + time + "(?s:.*))?";
    String local = "([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})" + time + "(?::[0-5][0-9])?)?";
    java.util.regex.Matcher match = java.util.regex.Pattern.compile(iso).matcher(text);
    boolean isIso = match.matches();
    if (!isIso) match = java.util.regex.Pattern.compile(local).matcher(text);
    if (!match.matches()) throw wrong(text, name, "date");
    int year = Integer.parseInt(match.group(isIso ? 1 : 3)), month = Integer.parseInt(match.group(isIso || dayFirst ? 2 : 1));
    int day = Integer.parseInt(match.group(isIso ? 3 : dayFirst ? 1 : 2)), hour = match.group(4) == null ? 0 : Integer.parseInt(match.group(4));
    try {
        if (year < 1) throw wrong(text, name, "date");
        java.time.LocalDate date = java.time.LocalDate.of(year, month, day);
        long days = date.toEpochDay();
        return new double[] {year, month, day, date.getDayOfWeek().getValue() - 1, hour, days + hour / 24.0};
    } catch (java.time.DateTimeException error) {
        throw wrong(text, name, "date");
    }
}

static double[] forest(double[] inputs, int[] shape, double[] numbers, Curve[] functions, int nValues, int nStacked) {
    double[] outputs = new double[nValues], stack = new double[nStacked];
    int at = 0, w = 0, top = 0, k = 0;
    while (at < shape.length) {
        int kind = shape[at], nChildren = shape[at + 1], nLeaves = shape[at + 2];
        at += 3;
        double z = numbers[w++];
        for (int i = 0; i < nChildren; i++) z += numbers[w++] * stack[--top];
        for (int i = 0; i < nLeaves; i++) z += numbers[w++] * inputs[shape[at++]];
        Curve curve = functions[kind / 2];
        double value = curve.apply(z, java.util.Arrays.copyOfRange(numbers, w, w + curve.nConstants()));
        if (kind % 2 == 1) outputs[k++] = value;
        else stack[top++] = value;
        w += curve.nConstants();
    }
    return outputs;
}

static double[] numbers(String... parts) {
    String[] words = String.join(" ", parts).split(" ");
    return java.util.Arrays.stream(words).mapToDouble(Double::parseDouble).toArray();
}

static int[] integers(String... parts) {
    String[] words = String.join(" ", parts).split(" ");
    return java.util.Arrays.stream(words).mapToInt(Integer::parseInt).toArray();
}

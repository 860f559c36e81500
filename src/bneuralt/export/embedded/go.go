func square(z float64) float64 {
	return z * z
}

func limitedExp(z float64) float64 {
	return math.Exp(math.Max(math.Min(z, 708), -708))
}

func sigmoid(z float64) float64 {
	return 1 / (1 + limitedExp(-z))
}

func ifMissing(value, other float64) float64 {
	if math.IsNaN(value) {
		return other
	}
	return value
}

func choose(condition bool, a, b float64) float64 {
	if condition {
		return a
	}
	return b
}

func largest(values ...float64) float64 {
	best := math.Inf(-1)
	for _, value := range values {
		best = math.Max(best, value)
	}
	return best
}

func ordered(place int, values ...float64) float64 {
	sort.Float64s(values)
	return values[place]
}

func firstLargest(values ...float64) int {
	best := 0
	for i, value := range values {
		if value > values[best] {
			best = i
		}
	}
	return best
}

func isIn(text string, texts ...string) bool {
	for _, other := range texts {
		if text == other {
			return true
		}
	}
	return false
}

// find returns the number of a text in a sorted list.
func find(text string, texts []string, numbers []float64, unknown float64) float64 {
	i := sort.SearchStrings(texts, text)
	if i < len(texts) && texts[i] == text {
		return numbers[i]
	}
	return unknown
}

func refuse(text, name, kind string) {
	panic(fmt.Errorf("column %q: %s is not a %s", name, text, kind))
}

// word returns the text of a cell without blanks; empty if it is missing.
func word(cell any, gaps []string) string {
	text, isText := cell.(string)
	if !isText {
		if cell == nil {
			return ""
		}
		text = fmt.Sprint(cell)
	}
	text = strings.TrimSpace(text)
	if isIn(strings.ToLower(text), missing...) || text == "None" || isIn(text, gaps...) {
		return ""
	}
	return text
}

// value returns the number of a cell that is none of a text.
func value(cell any) (float64, bool) {
	switch number := cell.(type) {
	case float64:
		return number, true
	case float32:
		return float64(number), true
	case int:
		return float64(number), true
	case int64:
		return float64(number), true
	}
	return 0, false
}

func decimal(text, name string) float64 {
	result, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.eE+-") != "" {
		refuse(text, name, "number")
	}
	return result
}

func number(cell any, name string, gaps ...string) float64 {
	if result, isNumber := value(cell); isNumber {
		return result
	}
	switch text := word(cell, gaps); strings.ToLower(text) {
	case "":
		return math.NaN()
	case "true":
		return 1
	case "false":
		return 0
	default:
		return decimal(text, name)
	}
}

func amount(cell any, name, point, thousands, before, behind string, gaps ...string) float64 {
	if result, isNumber := value(cell); isNumber {
		return result
	}
	text := regexp.MustCompile(`[\s\p{Z}]`).ReplaceAllString(word(cell, gaps), " ")
	if text == "" {
		return math.NaN()
	}
	forms := []string{`^([+-]?) *()([\d.,' ]+(?:[eE][+-]?\d+)?)$`}
	if behind != "" {
		forms = append(forms, `^([+-]?) *()([\d.,' ]+?) *`+regexp.QuoteMeta(behind)+`$`)
	}
	if before != "" {
		forms = append(forms, `^([+-]?) *`+regexp.QuoteMeta(before)+` *(-?)([\d.,' ]+)$`)
	}
	for _, form := range forms {
		match := regexp.MustCompile(form).FindStringSubmatch(text)
		if match == nil || match[1] != "" && match[2] != "" {
			continue
		}
		digits := match[3]
		if thousands != "" && strings.Contains(digits, thousands) {
			grouped := `^\d{1,3}(` + regexp.QuoteMeta(thousands) + `\d{3})+$`
			if !regexp.MustCompile(grouped).MatchString(strings.Split(digits, point)[0]) {
				refuse(text, name, "number")
			}
			digits = strings.ReplaceAll(digits, thousands, "")
		}
		if point != "." && strings.Contains(digits, point) {
			if strings.Contains(digits, ".") {
				refuse(text, name, "number")
			}
			digits = strings.ReplaceAll(digits, point, ".")
		}
		result := decimal(digits, name)
		if match[1] == "-" || match[2] == "-" {
			return -result
		}
		return result
	}
	refuse(text, name, "number")
	return 0
}

func clock(cell any, name string, gaps ...string) float64 {
	if result, isNumber := value(cell); isNumber {
		return result
	}
	text := word(cell, gaps)
	if text == "" {
		return math.NaN()
	}
	match := regexp.MustCompile(`^(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?$`).FindStringSubmatch(text)
	if match == nil {
		refuse(text, name, "time")
	}
	hours, _ := strconv.Atoi(match[1])
	minutes, _ := strconv.Atoi(match[2])
	seconds, _ := strconv.Atoi("0" + match[3])
	return float64(hours) + float64(minutes)/60 + float64(seconds)/3600
}

func text(cell any) string {
	if number, isNumber := value(cell); isNumber {
		if math.IsNaN(number) {
			return ""
		}
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	if truth, isTruth := cell.(bool); isTruth {
		return map[bool]string{true: "True", false: "False"}[truth]
	}
	text := word(cell, nil)
	if regexp.MustCompile(`^[+-]?\d+\.0*$`).MatchString(text) {
		return strings.Split(text, ".")[0]
	}
	return text
}

// date returns year, month, day, weekday (Monday is 0), hour and the days since 1970.
func date(cell any, name string, dayFirst bool, gaps ...string) [6]float64 {
	if moment, isTime := cell.(time.Time); isTime {
		cell = moment.Format("2006-01-02 15:04")
	}
	text := word(cell, gaps)
	if text == "" {
		return [6]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	clock := `(?:[ T]([01]?\d|2[0-3]):[0-5]\d`
	iso := regexp.MustCompile(`^(\d{4})[-/](\d{1,2})[-/](\d{1,2})` + clock + `(?s:.*))?$`)
	local := regexp.MustCompile(`^(\d{1,2})[./-](\d{1,2})[./-](\d{4})` + clock + `(?::[0-5]\d)?)?$`)
	match, order := iso.FindStringSubmatch(text), []int{1, 2, 3, 4}
	if match == nil {
		match, order = local.FindStringSubmatch(text), []int{3, 1, 2, 4}
		if dayFirst {
			order = []int{3, 2, 1, 4}
		}
	}
	if match == nil {
		refuse(text, name, "date")
	}
	var parts [4]int
	for i, place := range order {
		parts[i], _ = strconv.Atoi("0" + match[place])
	}
	day := time.Date(parts[0], time.Month(parts[1]), parts[2], 0, 0, 0, 0, time.UTC)
	if parts[0] < 1 || int(day.Month()) != parts[1] || day.Day() != parts[2] {
		refuse(text, name, "date")
	}
	days := math.Round(float64(day.Unix()) / 86400)
	weekday := (int(day.Weekday()) + 6) % 7
	hour := float64(parts[3])
	return [6]float64{float64(parts[0]), float64(parts[1]), float64(parts[2]), float64(weekday), hour, days + hour/24}
}

func forest(inputs []float64, shape []int, numbers []float64, functions []curve) []float64 {
	var outputs, stack []float64
	w := 0
	for at := 0; at < len(shape); {
		kind, nChildren, nLeaves := shape[at], shape[at+1], shape[at+2]
		at += 3
		z := numbers[w]
		w++
		for i := 0; i < nChildren; i++ {
			z += numbers[w] * stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			w++
		}
		for i := 0; i < nLeaves; i++ {
			z += numbers[w] * inputs[shape[at]]
			w++
			at++
		}
		function := functions[kind/2]
		result := function.formula(z, numbers[w:w+function.nConstants])
		w += function.nConstants
		if kind%2 == 1 {
			outputs = append(outputs, result)
		} else {
			stack = append(stack, result)
		}
	}
	return outputs
}

/// A value of a row: a number, a text such as a CSV file has, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Number(f64),
    Text(&'a str),
    Missing,
}
impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        if value.is_nan() { Cell::Missing } else { Cell::Number(value) }
    }
}
impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Cell::Text(value)
    }
}

fn find(text: &str, table: &[(&str, f64)], unknown: f64) -> f64 {
    table.binary_search_by(|entry| entry.0.cmp(text)).map_or(unknown, |i| table[i].1)
}

fn minimum(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

fn maximum(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

fn square(z: f64) -> f64 {
    z * z
}

fn exp(z: f64) -> f64 {
    maximum(minimum(z, 708.0), -708.0).exp()
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + exp(-z))
}

fn if_missing(value: f64, other: f64) -> f64 {
    if value.is_nan() { other } else { value }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, maximum)
}

fn ordered(values: &[f64], place: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[place]
}

fn first_largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// The text of a cell without blanks; empty if it is missing.
fn word<'a>(cell: Cell<'a>, gaps: &[&str]) -> &'a str {
    let text = match cell {
        Cell::Text(text) => text.trim(),
        _ => "",
    };
    let is_gap = MISSING.contains(&text.to_lowercase().as_str()) || text == "None";
    if is_gap || gaps.contains(&text) { "" } else { text }
}

fn refuse(value: &str, name: &str, kind: &str) -> String {
    format!("column {name:?}: {value} is not a {kind}")
}

fn decimal(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|b| b"0123456789.eE+-".contains(&b));
    text.parse().ok().filter(|value: &f64| is_plain && value.is_finite())
}

fn digits(text: &str, least: usize, most: usize) -> Option<i64> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit());
    let fits = (least..=most).contains(&text.len());
    if is_number && fits { text.parse().ok() } else { None }
}

fn number(cell: Cell, name: &str, gaps: &[&str]) -> Result<f64, String> {
    match (cell, word(cell, gaps)) {
        (Cell::Number(value), _) => Ok(value),
        (_, "") => Ok(f64::NAN),
        (_, text) => match text.to_lowercase().as_str() {
            "true" => Ok(1.0),
            "false" => Ok(0.0),
            _ => decimal(text).ok_or_else(|| refuse(text, name, "number")),
        },
    }
}

#[allow(clippy::too_many_arguments)]
fn amount(
    cell: Cell, name: &str, point: &str, thousands: &str, before: &str, behind: &str, gaps: &[&str],
) -> Result<f64, String> {
    let text = match (cell, word(cell, gaps)) {
        (Cell::Number(value), _) => return Ok(value),
        (_, "") => return Ok(f64::NAN),
        (_, text) => text,
    };
    let wrong = || refuse(text, name, "number");
    let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let has_sign = spaced.starts_with(['+', '-']);
    let mut sign = if spaced.starts_with('-') { -1.0 } else { 1.0 };
    let unsigned = spaced[usize::from(has_sign)..].trim_start();
    let (mut rest, mut has_unit) = (unsigned, true);
    if let Some(inner) = unsigned.strip_prefix(before).filter(|_| !before.is_empty()) {
        rest = inner.trim_start();
        if let Some(inner) = rest.strip_prefix('-').filter(|_| !has_sign) {
            (sign, rest) = (-1.0, inner);
        }
    } else if let Some(inner) = unsigned.strip_suffix(behind).filter(|_| !behind.is_empty()) {
        rest = inner.trim_end();
    } else {
        has_unit = false;
    }
    let starts = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts || (has_unit && rest.contains(['e', 'E'])) {
        return Err(wrong());
    }
    let mut plain = rest.to_string();
    if !thousands.is_empty() && rest.contains(thousands) {
        let groups: Vec<&str> = rest.split(point).next().unwrap_or("").split(thousands).collect();
        let is_grouped = groups.len() > 1 && (1..4).contains(&groups[0].len());
        if !is_grouped || groups[1..].iter().any(|group| group.len() != 3) {
            return Err(wrong());
        }
        plain = plain.replace(thousands, "");
    }
    if point != "." && plain.contains(point) {
        if plain.contains('.') {
            return Err(wrong());
        }
        plain = plain.replace(point, ".");
    }
    decimal(&plain).map(|value| sign * value).ok_or_else(wrong)
}

fn clock(cell: Cell, name: &str, gaps: &[&str]) -> Result<f64, String> {
    let text = match (cell, word(cell, gaps)) {
        (Cell::Number(value), _) => return Ok(value),
        (_, "") => return Ok(f64::NAN),
        (_, text) => text,
    };
    let mut parts: Vec<&str> = text.split(':').collect();
    if parts.len() == 2 {
        parts.push("00");
    }
    let read = || -> Option<f64> {
        let (seconds, fraction) = parts.get(2)?.split_once('.').unwrap_or((parts[2], "0"));
        let (hour, minute) = (digits(parts[0], 1, 2)?, digits(parts[1], 2, 2)?);
        let second = digits(seconds, 2, 2)?;
        digits(fraction, 1, 18)?;
        let is_time = parts.len() == 3 && minute < 60 && second < 60;
        is_time.then_some(hour as f64 + minute as f64 / 60.0 + second as f64 / 3600.0)
    };
    read().ok_or_else(|| refuse(text, name, "time"))
}

fn text(cell: Cell) -> String {
    let text = match cell {
        Cell::Number(value) if value.fract() == 0.0 => return format!("{value:.0}"),
        Cell::Number(value) => return format!("{value}"),
        _ => word(cell, &[]),
    };
    if let Some((whole, zeros)) = text.split_once('.') {
        let unsigned = whole.strip_prefix(['+', '-']).unwrap_or(whole);
        let is_whole = !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit());
        if is_whole && zeros.bytes().all(|b| b == b'0') {
            return whole.to_string();
        }
    }
    text.to_string()
}

fn date_fields(text: &str, day_first: bool) -> Option<(i64, i64, i64, i64)> {
    let (day, time) = match text.find([' ', 'T']) {
        Some(place) => (&text[..place], &text[place + 1..]),
        None => (text, "0:00"),
    };
    let parts: Vec<&str> = day.split(['-', '/', '.']).collect();
    let [first, second, third] = match parts.as_slice() {
        [first, second, third] => [*first, *second, *third],
        _ => return None,
    };
    let is_iso = first.len() == 4;
    let (hour, rest) = time.split_once(':')?;
    let (minute, more) = (rest.get(..2)?, &rest[2..]);
    let seconds = more.strip_prefix(':').and_then(|text| digits(text, 2, 2));
    let is_end = more.is_empty() || matches!(seconds, Some(0..=59));
    let hour = digits(hour, 1, 2).filter(|hour| *hour < 24)?;
    if digits(minute, 2, 2)? > 59 || (is_iso && day.contains('.')) || !(is_iso || is_end) {
        return None;
    }
    let (year, month, day) = match (is_iso, day_first) {
        (true, _) => (first, second, third),
        (false, true) => (third, second, first),
        (false, false) => (third, first, second),
    };
    Some((digits(year, 4, 4)?, digits(month, 1, 2)?, digits(day, 1, 2)?, hour))
}

/// Year, month, day, weekday (Monday is 0), hour and the days since 1970.
fn date(cell: Cell, name: &str, day_first: bool, gaps: &[&str]) -> Result<[f64; 6], String> {
    let text = match (cell, word(cell, gaps)) {
        (Cell::Number(value), _) => return Err(refuse(&value.to_string(), name, "date")),
        (_, "") => return Ok([f64::NAN; 6]),
        (_, text) => text,
    };
    let wrong = || refuse(text, name, "date");
    let (year, month, day, hour) = date_fields(text, day_first).ok_or_else(wrong)?;
    let leap = i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let lengths = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if year < 1 || !(1..=12).contains(&month) || !(1..=lengths[month as usize - 1]).contains(&day) {
        return Err(wrong());
    }
    let shifted = year - i64::from(month < 3);
    let leaps = shifted / 4 - shifted / 100 + shifted / 400;
    let days = 365 * shifted + leaps + (153 * ((month + 9) % 12) + 2) / 5 + day - 719469;
    let elapsed = days as f64 + hour as f64 / 24.0;
    let weekday = (days + 3).rem_euclid(7);
    Ok([year as f64, month as f64, day as f64, weekday as f64, hour as f64, elapsed])
}

fn forest(inputs: &[f64], shape: &[u32], numbers: &[f64], functions: &[Curve]) -> Vec<f64> {
    let (mut outputs, mut stack, mut at, mut w) = (Vec::new(), Vec::new(), 0, 0);
    while at < shape.len() {
        let (kind, n_children, n_leaves) = (shape[at], shape[at + 1], shape[at + 2] as usize);
        at += 3;
        let mut z = numbers[w];
        w += 1;
        for _ in 0..n_children {
            z += numbers[w] * stack.pop().unwrap_or(0.0);
            w += 1;
        }
        for i in &shape[at..at + n_leaves] {
            z += numbers[w] * inputs[*i as usize];
            w += 1;
        }
        at += n_leaves;
        let (function, n_constants) = functions[kind as usize / 2];
        let value = function(z, &numbers[w..w + n_constants]);
        if kind % 2 == 1 { outputs.push(value) } else { stack.push(value) }
        w += n_constants;
    }
    outputs
}

"""Calendar words: days by the names of their month and weekday, as questions say them."""

from __future__ import annotations

from looseleaf.memory.search.words import split_words
from looseleaf.times import weekday_of

# A character that no word of a page has, so that terms of dates match no text of a page.
MARK = "§"
# A line is a language, or a grammatical case of one: January to December, Monday to Sunday.
_MONTHS = """
january february march april may june july august september october november december
januar februar marz april mai juni juli august september oktober november dezember
janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia
styczniu lutym marcu kwietniu maju czerwcu lipcu sierpniu wrzesniu pazdzierniku listopadzie grudniu
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре
"""
_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday
montag dienstag mittwoch donnerstag freitag samstag sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miercoles jueves viernes sabado domingo
lunedi martedi mercoledi giovedi venerdi sabato domenica
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
mandag tisdag onsdag torsdag fredag lordag sondag
poniedziałek wtorek srode czwartek piatek sobote niedziele
понедельник вторник среду четверг пятницу субботу воскресенье
星期一 星期二 星期三 星期四 星期五 星期六 星期日
周一 周二 周三 周四 周五 周六 周日
月曜 火曜 水曜 木曜 金曜 土曜 日曜
월요일 화요일 수요일 목요일 금요일 토요일 일요일
"""
_SHORT_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Names of months that are also other words count only beside a number or a preposition.
_DOUBTFUL = frozenset(("may", "march", "mars", "marco", "marca", "mai", "mei", "maj", "maja"))
_PREPOSITIONS = """
in of on since until last this next early late mid im am ende anfang en de du fin debut a nel di em
no w в
"""
_BEFORE_MONTH = frozenset(_PREPOSITIONS.split())


def _number_names(table: str) -> dict[str, int]:
    """Number the names of each line, from 0 on, as `split_words` returns them."""
    lines = map(split_words, table.split("\n"))
    return {name: number for line in lines for number, name in enumerate(line)}


_MONTH_OF = _number_names(_MONTHS)
_WEEKDAY_OF = _number_names(_WEEKDAYS)
_EAST_ASIAN_WEEKDAYS = {name: day for name, day in _WEEKDAY_OF.items() if name[0] >= "\u2e80"}


def build_day_terms(year: int, month: int, day: int) -> tuple[str, ...]:
    """Return the terms by which a day of the journal is found: year, month, day, weekday."""
    number = weekday_of(year, month, day)
    return (
        _build_year_term(year),
        _build_month_term(month),
        _build_day_term(month, day),
        f"{MARK}w{number}",
    )


def parse_question_dates(question: str) -> tuple[str, ...]:
    """Return the terms of the dates that a question names, in any of the known languages."""
    words = split_words(question)
    terms: list[str] = []
    for at, word in enumerate(words):
        month = _find_month(words, at)
        if month:
            terms.append(_build_month_term(month))
            terms += [_build_day_term(month, day) for day in _find_days(words, at)[:1]]
        elif len(word) == 4 and word.isdigit() and "1900" <= word < "2200":
            terms.append(_build_year_term(int(word)))
            terms += _parse_iso_rest(words[at + 1 : at + 3])
        elif not word.isascii():
            terms += _parse_east_asian(word)
        if word in _WEEKDAY_OF and word not in _EAST_ASIAN_WEEKDAYS:
            terms.append(f"{MARK}w{_WEEKDAY_OF[word]}")
    return tuple(dict.fromkeys(terms))


def _find_month(words: list[str], at: int) -> int:
    """Find the month that a word names, or 0 if the word is no month."""
    word = words[at]
    before = words[at - 1] if at else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    has_number = _parse_number(before) or _parse_number(after)
    if word in _SHORT_MONTHS and has_number:
        return _SHORT_MONTHS.index(word) + 1
    sure = word not in _DOUBTFUL or has_number or before in _BEFORE_MONTH
    return _MONTH_OF[word] + 1 if word in _MONTH_OF and sure else 0


def _find_days(words: list[str], at: int) -> list[int]:
    """Find the day that stands beside the name of its month: 7 May, May 7th, 7 de mayo."""
    near = [words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""]
    if at > 1 and words[at - 1] in ("of", "de", "di"):
        near.insert(0, words[at - 2])
    return [number for number in map(_parse_number, near) if 1 <= number <= 31]


def _parse_number(word: str) -> int:
    digits = word.rstrip("stndrhe") if word[:1].isdigit() else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 4 else 0


def _parse_iso_rest(words: list[str]) -> list[str]:
    """Read the month and the day behind a year: 2026-04-17, 2026/04."""
    numbers = [int(word) for word in words if len(word) == 2 and word.isascii() and word.isdigit()]
    if not numbers or not 1 <= numbers[0] <= 12:
        return []
    month = [_build_month_term(numbers[0])]
    return [*month, _build_day_term(*numbers)] if len(numbers) == 2 and numbers[1] <= 31 else month


def _parse_east_asian(word: str) -> list[str]:
    """Read numbers before the signs for year, month and day: 2026年4月17日, 4월 17일."""
    values: dict[str, int] = {}
    digits = ""
    for sign in word:
        kind = {"年": "y", "년": "y", "月": "m", "월": "m", "日": "d", "일": "d"}.get(sign, "")
        if kind and digits:
            values[kind] = int(digits)
        digits = digits + sign if sign.isascii() and sign.isdigit() and len(digits) < 4 else ""
    terms = [_build_year_term(values["y"])] if "y" in values else []
    if 1 <= values.get("m", 0) <= 12:
        terms.append(_build_month_term(values["m"]))
        terms += [_build_day_term(values["m"], values["d"])] if "d" in values else []
    weekdays = [day for name, day in _EAST_ASIAN_WEEKDAYS.items() if name in word]
    return terms + [f"{MARK}w{day}" for day in weekdays]


def _build_year_term(year: int) -> str:
    return f"{MARK}y{year:04}"


def _build_month_term(month: int) -> str:
    return f"{MARK}m{month:02}"


def _build_day_term(month: int, day: int) -> str:
    return f"{MARK}d{month:02}{day:02}"

"""Words as the ranking compares them: folded, without accents and endings, line by line."""

from __future__ import annotations

import unicodedata
from itertools import groupby

from looseleaf.times import weekday_of

# Stop words in several languages: the words of every question, which find nothing.


_ENGLISH = """
a about all also am an and any are aren as at be been being both but by can could couldn d did
didn do does doesn doing don done each ever few for from had hadn has hasn have haven having he
her here hers him his how i if in into is isn it its just kind know let ll lot m many may me might
more most much must my no nor not of off on or other our out over own please re remember s same
shall she should so some sort such t tell than that the their them then there these they this
those to too type under us ve very was wasn we were weren what when where which who whom whose why
will with won would wouldn you your
"""
_GERMAN = """
aber alle als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem
den der des dich die dies diese dieser dieses dir doch du durch ein eine einem einen einer eines
er es etwas euch euer fur gab habe haben hat hatte hatten hier ich ihm ihn ihnen ihr ihre ihrem
ihren im in ist ja jede jeder kann kein keine konnte man mein meine mich mir mit nach nicht noch
nur ob oder schon sein seine seinem seinen seiner sich sie sind so uber um und uns unser vom von
vor wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werden
weshalb wessen wie wieso wieviel will wir wird wo wofur woher wohin womit wurde wurden zu zum zur
"""
_FRENCH = """
a ai as au aux avait avec avez avons c ce ces cet cette ceux chez combien comment d dans de des
dont du elle elles en es est et etait ete etes eu eux fait il ils j je l la le les leur leurs lors
lui m ma mais me meme mes moi mon n ne nos notre nous on ont ou par pas pendant plus pour pourquoi
qu quand que quel quelle quelles quels qui quoi s sa sans se ses son sont sur t ta te tes toi ton
tu un une vers vos votre vous y
"""
_SPANISH = """
a al algo ante aquel aquella como con cual cuales cuando cuanta cuantas cuanto cuantos de del
desde donde e el ella ellas ellos en entre era eran eres es esa ese eso esta estaba estan este
esto fue fueron ha haber habia han hasta hay la las le les lo los mas me mi mis muy no nos
nosotros o para pero por porque que quien quienes se ser si sin sobre son su sus tambien te tiene
tu tus un una unas uno unos y ya yo
"""
_ITALIAN = """
a ad ai al alla alle allo anche c che chi ci ci come con cosa cui da dai dal dalla dalle dei del
della delle dello di dove e ed era erano fu gli ha hai hanno ho i il in io l la le lei li lo loro
ma mi mia mie mio ne nei nel nella noi non o per perche piu qual quale quali quando quanta quante
quanti quanto quella quelle quello questa queste questo se si sia sono stata stati stato su sua
sue sui sul sulla suo suoi tra tu un una uno vi voi
"""
_PORTUGUESE = """
a ao aos as com como da das de dela dele deles depois do dos e ela elas ele eles em entre era eram
essa esse esta estava este eu foi foram ha isso isto ja lhe mais mas me meu meus minha minhas
muito na nao nas no nos nossa nosso o onde os ou para pela pelas pelo pelos por porque qual quais
quando quanta quantas quanto quantos que quem se sem ser seu seus sobre sua suas tambem te tem
tinha um uma umas uns voce voces
"""
_DUTCH = """
aan al als bij daar dan dat de deze die dit doch doen door een en er ge had hadden hebben hebt
heeft hem het hier hij hoe hoeveel hun iets ik in is ja je kan kon maar me meer met mij mijn moet
na naar niet nog nu of om onder ons ook op over te tegen toen tot u uit uw van veel voor waar
waarom wanneer waren was wat we wel welk welke werd werden wie wij wordt ze zich zij zijn zo zou
"""
_SWEDISH = """
alla allt att av bara blev bli da dar de dem den denna deras dess det detta dig din dina du efter
ej eller en er ett fran for ha hade han hans har hela henne hennes hon honom hur i icke inte ja
jag kan kunde man med mellan men mig min mina mot mycket nar ni nu och om oss pa sa sig sin sina
skulle som till ut under upp ur vad var vara vem vid vilka vilken vilket vi varfor at
"""
_POLISH = """
a ale bo by byc był była było były co czy czyj dla do gdy gdzie go i ich ile im ja jak jaka jaki
jakie jako je jego jej jest jestem juz kiedy kto ktora ktore ktory lub ma mam mi mnie moj moja na
nad nas nie niz o od on ona one oni ono oraz po pod przed przez przy sa sie skad swoj ta tak tam
te tego tej ten to tu ty tylko w we wiec wy z za ze
"""
_RUSSIAN = """
а бы был была были было быть в во вот все вы где да для до его ее если есть еще ж же за и из или
им их к как какая какие какои какую ко когда кого кому кто куда ли меня мне мы на над не него нее
нет ни но ну о об он она они оно от откуда по под после почему при с со сколько так там тебя то
тоже только тот ты у уже чего чем что чтобы это этот я
"""
# In scripts without spaces: pairs of characters that are question words or grammar.
_PAIRS = """
什么 什麼 怎么 怎麼 哪里 哪裡 哪个 哪個 哪天 何时 何時 多少 为什 為什
谁的 誰の 时候 時候 是谁 是誰 的时 了吗 了嗎 是什 いつ どこ だれ 誰が
なに 何を 何が です ます した ました たか すか ので から まで して いる
ある こと でし まし しま 언제 어디 누가 무엇 어떤 왜요 니까 습니 는가
했나 나요 었나
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "English": _ENGLISH,
        "German": _GERMAN,
        "French": _FRENCH,
        "Spanish": _SPANISH,
        "Italian": _ITALIAN,
        "Portuguese": _PORTUGUESE,
        "Dutch": _DUTCH,
        "Swedish": _SWEDISH,
        "Polish": _POLISH,
        "Russian": _RUSSIAN,
        "pairs": _PAIRS,
    }.items()
}


_LONGEST = 40  # letters of a word; longer runs are no words, but data
_STEM = 6  # letters; the rest is mostly grammar, in many languages
_MOST_CACHED = 65_536
_MOST_TERMS = 32
_VOWELS = frozenset("aeiouy")
# Scripts that write words without spaces, and Korean, which joins endings to them.
_SPACELESS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_PLAIN = bytes(code if code == 10 or chr(code).isalnum() else 32 for code in range(128)) + bytes(
    128
)


def stem_lines(folded_text: bytes) -> str:
    """Return the stems of the words of a folded text, line by line.

    Each stem stands between two spaces, so that it can be found without splitting the text.
    """
    stem = _STEMS.__getitem__
    lines = [" ".join(map(stem, line.split())) for line in _split_plain_lines(folded_text)]
    return "\n".join([f" {line} " if line else "" for line in lines])


def split_words(text: str) -> list[str]:
    """Split a text into folded words without accents, in their order."""
    folded_text = text.casefold().encode("utf-8", "ignore")
    return [word for line in _split_plain_lines(folded_text) for word in line.split()]


def is_question(text: str) -> bool:
    """Return whether a text has several words, so that it may be a question and no exact text."""
    return len([stem for word in split_words(text) for stem in _stem_question_word(word)]) > 1


def parse_question_terms(question: str) -> tuple[str, ...]:
    """Return the stems of a question, each once, without stop words."""
    words = split_words(question)
    language = max(
        STOP_WORDS, key=lambda candidate: sum(map(STOP_WORDS[candidate].__contains__, words))
    )
    content_words = [word for word in words if word not in STOP_WORDS[language]] or words
    terms = dict.fromkeys(term for word in content_words for term in _stem_question_word(word))
    rest = [term for term in terms if term not in STOP_WORDS["pairs"]] or list(terms)
    return tuple(rest[:_MOST_TERMS])


def _split_plain_lines(folded_text: bytes) -> list[str]:
    """Replace every character that is no letter or digit by a space, and split the lines."""
    if folded_text.isascii():
        return folded_text.translate(_PLAIN).decode("ascii").split("\n")
    return folded_text.decode("utf-8", "replace").translate(_LETTERS).split("\n")


class _Letters(dict[int, str]):
    """A cache of the plain letter of each character."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _simplify_letter(chr(code))
        return plain


def _simplify_letter(sign: str) -> str:
    if sign == "\n":
        return sign
    if unicodedata.combining(sign):
        return ""  # an accent as a character of its own
    if not (sign.isalnum() or unicodedata.category(sign) in ("Mn", "Mc")):
        return " "
    if _is_spaceless(sign):
        return unicodedata.normalize("NFKC", sign)
    parts = unicodedata.normalize("NFKD", sign).casefold()
    return "".join(part for part in parts if not unicodedata.combining(part)) or " "


def _is_spaceless(sign: str) -> bool:
    code = ord(sign)
    return code >= 0x0E00 and any(first <= code <= last for first, last in _SPACELESS)


class _Stems(dict[str, str]):
    """A cache of the stems of words, of a bounded size."""

    def __missing__(self, word: str) -> str:
        if word.isascii() and not word.isalpha():
            return word[:_LONGEST]  # numbers and identifiers are many, and their own stems
        stems = " ".join(_stem_page_word(word))
        if len(self) >= _MOST_CACHED:
            self.clear()
        if len(word) <= _LONGEST:
            self[word] = stems
        return stems


def _stem_page_word(word: str) -> list[str]:
    """Return the stems of a page's word; in a script without spaces, its characters and pairs."""
    if word.isascii():
        return [_stem_word(word)]
    stems = []
    for run, spaceless in _split_runs(word):
        stems += [*run, *_list_pairs(run)] if spaceless else [_stem_word(run)]
    return stems


def _stem_question_word(word: str) -> list[str]:
    stems = []
    for run, spaceless in _split_runs(word):
        stems += (_list_pairs(run) or [run]) if spaceless else [_stem_word(run)]
    return stems


def _list_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _split_runs(word: str) -> list[tuple[str, bool]]:
    """Split a word where its script changes between one with spaces and one without."""
    return [("".join(run), spaceless) for spaceless, run in groupby(word, _is_spaceless)]


def _stem_word(word: str) -> str:
    """Remove the most common endings, so that forms of one word have the same stem."""
    word = word[:_LONGEST]
    if len(word) < 4 or not word.isalpha():
        return word  # a number or an identifier is exact
    word = _without_verb_ending(_without_plural(word))
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    if len(word) >= 6 and word[-2:] in ("er", "ar", "ir", "en"):
        word = word[:-2]
    if len(word) >= 5 and word[-1] in "aeoi":
        word = word[:-1]
    return word[:_STEM]


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes", "oes")) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_verb_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3 and not _VOWELS.isdisjoint(stem):
            is_doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            return stem[:-1] if is_doubled else stem
    return word


_LETTERS = _Letters()
_STEMS = _Stems()


# Calendar words: days by the names of their month and weekday, as questions say them.


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

"""A labelled set: a year of conversations, and questions with the day that answers each.

Every language has two people. Facts are asked for in other words than they were told in, days are
full of small talk, and other days mention the same things without answering. The same bytes come
out every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

FIRST = date(2025, 1, 1)


class Fact(NamedTuple):
    """What was said on one day: the line, the line after it, and a question about them."""

    line: str
    next: str
    question: str


class Language(NamedTuple):
    """Two people, what they tell, what they say every day, and near misses."""

    people: tuple[str, str]
    facts: tuple[Fact, ...]
    chatter: tuple[str, ...]
    near: tuple[str, ...]


LANGUAGES = {
    "en": Language(
        ("Nora", "Ben"),
        (
            Fact(
                "I finally signed the lease for the new studio today.",
                "Congratulations! Is it the one by the canal?",
                "When did Nora move into her new studio by the canal?",
            ),
            Fact(
                "What did the vet say about Biscuit?",
                "He needs drops in both eyes, twice a day.",
                "Which treatment does the dog Biscuit get for his eyes?",
            ),
            Fact(
                "My sister is getting married in Lisbon next spring.",
                "Oh, I love Portugal.",
                "Where will Nora's sister's wedding take place?",
            ),
            Fact(
                "I broke my wrist while climbing at the quarry.",
                "Ouch. How long will you wear the cast?",
                "How did Ben injure his wrist?",
            ),
            Fact(
                "We adopted two kittens from the shelter on Hill Street.",
                "What are their names?",
                "Which animals were adopted from the shelter?",
            ),
            Fact(
                "The bakery hired me as an apprentice.",
                "So you get up at three every morning now?",
                "What job did Ben find at the bakery?",
            ),
            Fact(
                "I sold the old camper to a couple from Ghent.",
                "Did they pay the asking price?",
                "Who bought the camper?",
            ),
            Fact(
                "My violin teacher moves to Oslo, so lessons are online now.",
                "Does that work with the sound?",
                "Why are the violin lessons held online?",
            ),
            Fact(
                "The marathon went well: three hours and fifty minutes.",
                "That is your personal best!",
                "What was Nora's time when she ran the marathon?",
            ),
            Fact(
                "I planted tomatoes and basil on the balcony.",
                "Mine always get eaten by snails.",
                "What is growing on the balcony?",
            ),
        ),
        (
            "Good morning, how are you?",
            "I slept well, and you?",
            "The weather is grey again.",
            "Work was busy, nothing special.",
            "Let us have lunch on Thursday.",
            "I am reading a novel, it is slow.",
            "See you later!",
        ),
        (
            "I saw a studio flat in the paper, far too expensive.",
            "The dog next door barks all night.",
            "My cousin talked about weddings again.",
            "I should go climbing more often.",
            "The bakery was closed.",
            "We talked about adopting a pet some day.",
            "A violin concert was on the radio.",
            "I watched the marathon on television.",
        ),
    ),
    "de": Language(
        ("Klara", "Jonas"),
        (
            Fact(
                "Ich habe gestern die Wohnung in der Lindenstraße gekündigt.",
                "Und wohin zieht ihr dann?",
                "Wann hat Klara ihre Wohnung gekündigt?",
            ),
            Fact(
                "Meine Großmutter wird im Oktober neunzig.",
                "Feiert ihr im Gasthof?",
                "Wie alt wird Klaras Großmutter?",
            ),
            Fact(
                "Das Auto ist in der Werkstatt, die Bremsen sind hinüber.",
                "Das wird teuer.",
                "Warum war das Auto in der Werkstatt?",
            ),
            Fact(
                "Ich lerne seit heute Gitarre bei Herrn Albers.",
                "Akustisch oder elektrisch?",
                "Bei wem nimmt Jonas Gitarrenunterricht, um Gitarre zu lernen?",
            ),
            Fact(
                "Wir haben die Küche grün gestrichen.",
                "Mutig! Passt das zu den Fliesen?",
                "Welche Farbe hat die gestrichene Küche?",
            ),
            Fact(
                "Der Zahnarzt musste zwei Weisheitszähne ziehen.",
                "Iss erst einmal nur Suppe.",
                "Was hat der Zahnarzt bei Jonas gemacht?",
            ),
            Fact(
                "Im Urlaub fahren wir mit dem Nachtzug nach Zagreb.",
                "Habt ihr ein Abteil für euch?",
                "Wohin geht die Reise mit dem Nachtzug?",
            ),
            Fact(
                "Lena hat die Prüfung zur Tischlerin bestanden.",
                "Großartig, mit welcher Note?",
                "Welche Prüfung hat Lena bestanden?",
            ),
        ),
        (
            "Guten Morgen, wie geht es dir?",
            "Heute ist wenig los.",
            "Es regnet schon wieder.",
            "Ich war einkaufen.",
            "Wir sehen uns am Abend.",
            "Der Kaffee ist alle.",
            "Bis später!",
        ),
        (
            "Eine Wohnung zu finden ist schwer.",
            "Das Auto der Nachbarn ist neu.",
            "Im Radio lief Gitarre.",
            "Die Küche müssten wir putzen.",
            "Der Zug hatte Verspätung.",
            "Alle reden von Prüfungen.",
        ),
    ),
    "fr": Language(
        ("Camille", "Hugo"),
        (
            Fact(
                "J'ai acheté un vélo électrique pour aller au bureau.",
                "Il monte bien les côtes ?",
                "Quel vélo Camille a-t-elle acheté pour le bureau ?",
            ),
            Fact(
                "Ma fille a commencé le judo au club de Montreuil.",
                "Elle a déjà un kimono ?",
                "Où la fille de Camille fait-elle du judo ?",
            ),
            Fact(
                "Le médecin m'a interdit le gluten.",
                "Alors plus de baguette !",
                "Qu'est-ce que le médecin a interdit à Hugo ?",
            ),
            Fact(
                "On a perdu les clés de la maison sur la plage.",
                "Et comment êtes-vous rentrés ?",
                "Où ont-ils perdu leurs clés ?",
            ),
            Fact(
                "Je traduis un roman islandais pour un petit éditeur.",
                "Tu parles islandais, toi ?",
                "Quel roman Hugo traduit-il ?",
            ),
            Fact(
                "Nous avons fêté la retraite de Mireille au restaurant.",
                "Elle part vivre à Nantes ?",
                "Quand a-t-on fêté la retraite de Mireille ?",
            ),
            Fact(
                "Le chauffe-eau est tombé en panne cette nuit.",
                "Appelle le plombier de ma mère.",
                "Quel appareil est tombé en panne chez Camille ?",
            ),
            Fact(
                "J'ai réussi mon permis bateau du premier coup.",
                "Bravo, on part quand en mer ?",
                "Quel permis Hugo a-t-il réussi ?",
            ),
        ),
        (
            "Bonjour, ça va ?",
            "Rien de neuf ici.",
            "Il fait froid ce matin.",
            "Je suis allé au marché.",
            "On se voit ce soir.",
            "Le train était en retard.",
            "À plus tard !",
        ),
        (
            "Le vélo du voisin fait du bruit.",
            "Le médecin était en vacances.",
            "La plage était pleine de monde.",
            "Je lis un roman policier.",
            "Le restaurant a fermé.",
            "Tout le monde parle de la retraite.",
        ),
    ),
    "es": Language(
        ("Lucía", "Mateo"),
        (
            Fact(
                "Hoy presenté mi renuncia en el banco.",
                "¿Y qué vas a hacer ahora?",
                "¿Cuándo renunció Lucía a su trabajo en el banco?",
            ),
            Fact(
                "Mi abuelo nos enseñó a hacer queso de cabra.",
                "¿En su casa de la sierra?",
                "¿Quién les enseñó a preparar el queso?",
            ),
            Fact(
                "El gato se escapó por la ventana y volvió con un ratón.",
                "¡Qué asco!",
                "¿Qué trajo el gato cuando volvió?",
            ),
            Fact(
                "Compramos los billetes para volar a Quito en agosto.",
                "¿Cuánto dura el vuelo?",
                "¿A qué ciudad van a volar Mateo y su familia?",
            ),
            Fact(
                "Me robaron la mochila en la estación.",
                "¿Llevabas el pasaporte?",
                "¿Qué le robaron a Mateo en la estación?",
            ),
            Fact(
                "Estoy escribiendo una obra de teatro sobre mi barrio.",
                "¿Quién la va a dirigir?",
                "¿Sobre qué escribe Lucía la obra de teatro?",
            ),
            Fact(
                "La alergia resultó ser a los cacahuetes.",
                "Menos mal que lo sabes.",
                "¿A qué tiene alergia Lucía?",
            ),
            Fact(
                "Pinté el retrato de la alcaldesa y le gustó.",
                "¿Dónde lo van a colgar?",
                "¿De quién es el retrato que pintó Mateo?",
            ),
        ),
        (
            "Buenos días, ¿qué tal?",
            "Todo igual por aquí.",
            "Hace mucho calor hoy.",
            "Fui al mercado temprano.",
            "Nos vemos por la tarde.",
            "El café estaba frío.",
            "¡Hasta luego!",
        ),
        (
            "El banco estaba cerrado.",
            "El gato duerme todo el día.",
            "En la estación había mucha gente.",
            "Fuimos al teatro y nos aburrimos.",
            "El queso está caro.",
            "Quiero volar a algún sitio.",
        ),
    ),
    "ja": Language(
        ("美咲", "健太"),
        (
            Fact(
                "今日、京都の古い町家を借りる契約をしました。",
                "庭はありますか。",
                "美咲さんが京都で借りた家はどんな町家ですか",
            ),
            Fact(
                "犬の散歩中に足首を捻挫した。",
                "病院には行ったの。",
                "健太さんはどうして足首を捻挫したのですか",
            ),
            Fact(
                "弟が北海道の牧場で働き始めた。", "寒くないかな。", "弟はどこの牧場で働いていますか"
            ),
            Fact(
                "陶芸教室で大きな皿を焼いた。", "今度見せてください。", "陶芸教室で何を焼きましたか"
            ),
            Fact(
                "会社の引っ越しで大阪に転勤になった。",
                "いつ出発するの。",
                "健太さんの転勤先は大阪ですか",
            ),
        ),
        (
            "おはようございます。",
            "今日は雨ですね。",
            "仕事が忙しかった。",
            "昼はうどんを食べた。",
            "また明日。",
        ),
        ("京都の写真を見た。", "犬が吠えていた。", "会社に早く着いた。", "皿を洗った。"),
    ),
    "zh": Language(
        ("小雨", "阿强"),
        (
            Fact("我把旧钢琴卖给了邻居。", "卖了多少钱？", "小雨的钢琴卖给了谁？"),
            Fact("妈妈的膝盖手术很顺利。", "那就放心了。", "妈妈什么时候做的膝盖手术？"),
            Fact("我们决定下个月去敦煌看石窟。", "坐火车去吗？", "他们要去哪里看石窟？"),
            Fact("新来的同事会说葡萄牙语。", "他在巴西长大的。", "哪个同事会说葡萄牙语？"),
            Fact("我报名参加了潜水课程。", "你不怕水吗？", "阿强报名了什么潜水课程？"),
        ),
        ("早上好。", "今天天气不错。", "工作很忙。", "中午吃了面条。", "明天见。"),
        ("邻居家在装修。", "妈妈打电话来了。", "同事请客吃饭。", "火车晚点了。"),
    ),
}


def build_pages() -> dict[str, str]:
    """Return the days of the journal by their filenames."""
    return {filename: text for filename, text, _ in _build_days()}


def list_questions() -> list[tuple[str, str, str, str]]:
    """Return each question: the language, its text, the day that answers it, the line it is in."""
    labelled_questions = []
    for filename, _, fact in _build_days():
        if fact is not None:
            language, sentence = fact
            labelled_questions.append((language, sentence.question, filename, sentence.line))
    return labelled_questions


def _build_days() -> Iterator[tuple[str, str, tuple[str, Fact] | None]]:
    day, turn = FIRST, 0
    for language, talk in LANGUAGES.items():
        # Two days without a fact, among them near misses, stand between two days with one.
        plan: list[Fact | None] = []
        for fact_of_talk in talk.facts:
            plan += [None, fact_of_talk, None]
        for fact in plan:
            turn += 1
            lines = [f"# {day}", ""]
            for at in range(10):
                sentence = talk.chatter[(turn * 3 + at) % len(talk.chatter)]
                if at == 4 and fact is None:
                    sentence = talk.near[turn % len(talk.near)]
                lines.append(f"- {talk.people[at % 2]}: {sentence}")
            if fact is not None:
                place = 4 + turn % 5
                teller = turn % 2
                lines.insert(place, f"- {talk.people[teller]}: {fact.line}")
                lines.insert(place + 1, f"- {talk.people[1 - teller]}: {fact.next}")
            label = None if fact is None else (language, fact)
            yield f"daily/{day:%Y/%m/%d}.md", "\n".join(lines) + "\n", label
            day += timedelta(days=1)


# The same facts on pages of very different length.


_LONG_PAGES, _LONG_LINES = 6, 90  # of each language


def build_mixed_pages() -> dict[str, str]:
    """Return pages by their filenames: each fact on a short page, among long pages of talk.

    Every word of every question stands on long pages, too, two in a line and in no order.
    """
    pages: dict[str, str] = {}
    for language, talk in LANGUAGES.items():
        for number, fact in enumerate(talk.facts):
            text = fact.line if number % 2 else f"{fact.line}\n{fact.next}"
            pages[f"{language}-note-{number}.md"] = text + "\n"
        said = [word for fact in talk.facts for word in fact.question.rstrip("?？").split()]
        small_talk = (*talk.chatter, *talk.near)
        for page in range(_LONG_PAGES):
            lines = []
            for at in range(_LONG_LINES):
                sentence = small_talk[(page * 5 + at * 3) % len(small_talk)]
                first, second = ((page * 7 + at * step) % len(said) for step in (5, 11))
                lines.append(f"- {said[first]} {said[second]}: {sentence}")
            pages[f"{language}-talk-{page}.md"] = "\n".join(lines) + "\n"
    return pages


def list_mixed_questions() -> list[tuple[str, str, str]]:
    """Return each question about the mixed pages: the language, its text, the page it is on."""
    return [
        (language, fact.question, f"{language}-note-{number}.md")
        for language, talk in LANGUAGES.items()
        for number, fact in enumerate(talk.facts)
    ]

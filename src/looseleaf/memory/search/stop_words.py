"""Stop words in several languages: the words of every question, which find nothing."""

from __future__ import annotations

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

# ruff: noqa: RUF001 (letters that look alike are among the words)
"""Stop words in many languages; data for the loose search.

Folded when they are used. One list serves all languages, so a word that means something in another one (English `car`,
`war`, the name Kim) stands in AMBIGUOUS: it counts where it is found, and is not missed where it is not.
"""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = (
    # English, and how one asks a memory
    "a an the and or not of in on at to from for with by as is are was were be been being am do does did "
    "done has have had "
    "having i me my mine we us our you your he him his she her hers it its they them their this that these "
    "those there "
    "here what which who whom whose where when why how if then than so but about into over under after "
    "before again now "
    "currently today please tell show find give get list look search know knows known remember recall say said "
    "anyone someone everyone nobody anybody somebody anything something everything any some all every each "
    "can could would should shall may might must will just also "
    "too very much many more most no yes up out off per via s t d re ve ll m don doesn didn isn what's "
    # German
    "der die das den dem des ein eine einer eines einem einen und oder nicht kein keine von vom zu zum zur "
    "im am an auf "
    "aus bei mit nach seit uber unter fur durch gegen ohne um ist sind war waren bin bist sein seine ihr "
    "ihre ihren hat "
    "haben hatte ich du er sie es wir mein meine dein deine was wer wen wem wessen wo wohin woher wann "
    "warum wie welche "
    "welcher welches gibt dass ob wenn als auch noch nur schon jetzt sehr mir mich dir dich uns alle etwas "
    "heute "
    "unser unsere unserem unseren unserer unseres euer eure euren eurem meinem meinen meiner meines deinem deinen "
    "deiner deines seinem seinen seiner seines ihrem ihrer ihres diese dieser dieses diesem diesen ihm ihn ihnen "
    "euch sich wird werden wurde wurden worden kann konnen konnte muss mussen soll sollen sollte darf durfen hast "
    "habt habe hatten seid wieviel wieviele wieso weshalb womit wofur woran worauf woruber wovon wozu irgendwas "
    "irgendwer irgendjemand jemand jemanden niemand nichts hier dort dann bitte zeig kennst kennen weisst wissen "
    "erzahlt erwahnt erinnere beim ins deren dessen welchem welchen doch gerade "
    # French
    "le la les un une des du de d l et ou ne pas en dans sur sous avec sans pour par est sont etait ete "
    "etre suis es ai as "
    "avons ont avait je tu il on nous vous ils elles mon ma mes ton ta tes son sa ses notre votre leur "
    "leurs ce cet "
    "cette ces que qui quoi quel quelle quels quelles ou quand comment pourquoi combien qu c j n au aux "
    "plus tres y "
    "maintenant moi toi dont si "
    "vos celui celle ceux celles lequel laquelle lesquels lesquelles auquel duquel quelqu etaient avez peut peux "
    "peuvent doit faut sait sais savez savons rappelle souviens connais connait connaissons quelque quelques "
    "chose aucun aucune rien tout toute tous toutes aussi ici depuis pendant chez vers entre etes sommes "
    # Spanish
    "el los las unos unas una y o no del al en con sin por para es son era eran ser soy esta estan estaba "
    "he ha tiene "
    "tienen tener yo tu ellos nosotros mi mis tus su sus nuestro este esta estos ese esa que quien "
    "quienes cual "
    "cuales donde cuando como cuanto cuantos cuanta se me te lo le les muy mas ahora sobre todo todos "
    "nuestra nuestros nuestras vuestro cuyo cuya sabes sabe sabemos saben dime recuerda recuerdas conoces conoce "
    "conocemos alguien nadie nada algun alguna alguno algunos algunas tengo tenemos tenia debe puede puedo pueden "
    "fue fueron sido estamos somos eres esos esas aquel aquella adonde desde hasta tambien ya cada otro otra "
    "otros otras cuantas "
    # Portuguese
    "os as um uma uns umas e ou nao do da dos das em no na nos nas com sem por pelo pela para sao era estao "
    "esta estava "
    "tem tenho ter eu ele ela eles meu minha seu sua nosso nossa isso isto esse essa quem qual quais onde "
    "quando como "
    "porque quanto quantos que se mais muito agora ao aos ha voce "
    "minhas meus teu tua nossos nossas dele deles delas aquele aquela estes estas neste nesta deste desta num "
    "algum alguma alguns algumas alguem ninguem tudo voces sabem diz diga lembra lembrar conhece conhecemos foi "
    "foram estou tinha tinham pode posso podem deve devem fazer tambem quantas outro outra outros outras aqui "
    # Italian
    "il lo gli i uno della dello dei degli delle del al allo alla ai nel nella nell sul sulla con "
    "senza per tra fra "
    "sono era erano essere ho hai hanno io lei noi voi loro mio suo sua questo questa quello chi "
    "che cosa cui quale "
    "quali dove quando perche quanto quanti si non piu adesso ora ci all c e ed "
    "miei mie tuoi tue suoi sue nostro nostra nostri nostre vostro vostra questi queste quella quelli qualcuno "
    "qualcosa nessuno niente nulla ogni tutto tutta tutti tutte sai sappiamo sanno dimmi ricorda ricordi conosci "
    "conosciamo stata siamo siete avere aveva avevano puo possono devono fatto anche gia fino dalla dallo dagli "
    "dalle nei negli nelle sui sulle agli quanta quante "
    # Dutch
    "de het een en of niet geen van voor op bij naar uit met over om zijn was waren ben bent heeft "
    "hebben had ik jij "
    "je hij zij ze wij we jullie mijn jouw haar ons onze dit dat deze die wat wie waar wanneer waarom "
    "welke er nu "
    "ook nog al "
    "hem uw iemand iets niets elke kunnen kon moet moeten zal zullen zou wordt werd geweest gehad heb hebt weet "
    "weten vertel herinner waarvoor waarmee waarover waarvan welk maar dus daar daarvan tot tussen tegen onder "
    # Swedish, Danish, Norwegian
    "och eller inte ej en ett den det de som av i pa fran for med om at ar var vara har hade jag du "
    "hon vi ni min "
    "din sin hennes vad vem vilken vilka var nar varfor hur nu og ikke et af til fra er jeg vi mig "
    "hvad hvem hvor "
    "hvornar hvorfor hvordan hvilken hva hvilke ved skal kan vil blir bliver bor "
    "mitt ditt vart deras honom henne oss detta denna dessa sitt nagon nagot nagra ingen inget allt skulle maste "
    "gora gjorde blev varit haft veta beratta minns vilket hos mellan efter innan dar hendes vores deres ham "
    "hende dette denne nogen noget noen noe gore havde vaeret fortael husker kender hvilket mellem "
    # Finnish
    "ja tai ei on ovat oli olivat olla se ne he me te minun sinun hanen heidan tuo "
    "mita mitka "
    "kuka kenen missa mista mihin milloin koska miksi miten kuinka onko joka nyt myos etta kun millainen "
    "kanssa "
    "minulla sinulla hanella meilla teilla heilla minulle hanelle hanta meidan teidan niiden siita siina taman "
    "tasta tassa nama nuo jotka jonka jossa minka milla mille kenelle kenelta keta ketka montako paljonko oliko "
    "olen olet olemme ollut tiedat tiedamme tietaa kerro muistatko joku jokin kukaan mikaan kaikki mutta kuin "
    "viela "
    # Polish
    "i oraz lub albo nie w we z ze na do od po za dla przez przy o jest sa byl byla bylo byc ma miec "
    "ja ty on ono "
    "my wy oni moj moja twoj jego jej ich sie co kto kogo komu gdzie kiedy dlaczego jak jaki jaka jakie "
    "ktory ktora ile czy "
    "to ten ta te tym tego teraz "
    "mnie ciebie jemu niego nim nich nam wam nasz nasza nasze wasz swoj swoja swoje moich jakiego jakiej jakim "
    "jakich ktorego ktorej ktorym ktorzy czyj czyja czyje skad dokad ktos nikt nic bedzie beda byli moze mozna "
    "musi wiesz wiemy powiedz pamietasz przypomnij znasz jeszcze juz tylko tez takze bardzo jako "
    # Czech, Slovak
    "a nebo ne v ve s se k ke o u je jsou byl byla bylo byt ma maji mit muj moje jeho jeji co kdo koho kde "
    "kdy proc jak "
    "jaky jaka jake ktery ktera kolik ten ta to tento nyni pro aj som si "
    "mne tebe jim nase nasi vase svuj svoje svoji jakeho jakou jakym kterou kterym kteri cim nekdo neco nikdo "
    "odkud jsi jsme jste bude budou muze vime rekni pamatujes znas jeste uz jen velmi kolko "
    # Hungarian
    "az egy es vagy nem is van vannak volt voltak lesz en te o mi ti ok ez azt ezt ki kit kinek mit miert "
    "hol hova honnan "
    "mikor hogyan hogy milyen melyik mennyi hany most mar meg csak "
    "nekem neked neki nekunk nekik engem teged minket oket miket kiket kivel mivel hanyan hanyszor valaki valami "
    "senki semmi minden ezek azok ebben abban ennek annak vagyok vagyunk lett lesznek tudod tudjuk mondd "
    "emlekszel ismered "
    # Romanian
    "si sau nu un o al a ai ale in pe la din cu fara pentru este sunt era au are am eu tu el ea noi voi ei "
    "meu mea sau sa "
    "ce cine unde cand cum care pe despre acum "
    "lor mele tau nostru noastra cate cati cata stii stim spune cunosti fost "
    # Turkish
    "ve veya ile bir bu su o da de mi mu ne kimin nerede nereye nereden neresi ne zaman neden nicin "
    "nasil hangi kac "
    "icin gibi var yok degil ben sen biz siz onlar benim senin onun bizim simdi hakkinda olan zaman musun "
    "misin "
    "kimde kime kimden kimle nerde neye neyi hangisi kacta bana bize onlara beni seni onu bizi sizi onlari sizin "
    "onlarin bunu bunun buna bunlar biri birisi kimse hic midir mudur misiniz musunuz olarak oldu olmus olacak "
    "biliyor biliyorsun biliyoruz soyle hatirla kadar daha ise nedir kimdir neler "
    # Vietnamese, Indonesian
    "bi la va cua o voi cho khong co mot cac nhung nay do gi ai dau khi nao tai sao the nao bao nhieu toi ban "
    "anh chi "
    "dan atau di ke dari untuk dengan pada adalah itu ini apa siapa dimana mana kapan mengapa kenapa "
    "bagaimana berapa "
    "saya aku kamu dia mereka kami kita tidak ada sekarang "
    "duoc dang roi cung rat biet kepada oleh bisa dapat harus akan sudah telah pernah sedang masih juga hanya "
    "seseorang sesuatu apakah siapakah tahu ingat tentang punya "
    # Russian, Ukrainian
    "и или не ни в во на с со к ко о об от до по за из у для при про через это этот эта эти тот та те что "
    "кто кого кому чей "
    "чья где куда откуда когда почему зачем как какой какая какое какие каким сколько есть был была было "
    "были быть я ты он "
    "она оно мы вы они мой моя мое его ее их ему ей мне меня нас вас ли же бы а но сейчас теперь уже "
    "та або чи не в у на з із зі до від по за для про це цей ця ці той що хто кого де куди звідки коли чому "
    "як який яка яке "
    "які скільки є був була було були я ти він вона воно ми ви вони мій моя його її їх зараз "
    "нам вам них ним ней нему наш наша наше наши нашего нашей ваш ваша ваше ваши свой своя свое свои моего моей "
    "моем моих моим твой твоя твое твои какого какому каких какими которого которой который которая которое "
    "которые кем чем ком чего чему никто ничего можно может могут должен должна нужно знаешь знаем знает скажи "
    "расскажи напомни помнишь тоже также еще только очень все всех нашого наші свій своє якого якої якому хтось "
    "щось ніхто нічого може можна знаєш знаємо розкажи пам'ятаєш також ще тільки дуже всі чий чия ким чим "
    # Greek
    "ο η το οι τα του της των τον την τους τις και ή δεν να θα σε στο στη στην στον στα με για από που τι "
    "ποιος ποια ποιο "
    "ποιον πού πότε γιατί πώς πόσο πόσα είναι ήταν έχει έχουν μου σου μας σας ένα μια ένας τώρα "
    "ποιου ποιας ποιοι ποιες τινος αυτος αυτη αυτο αυτοι αυτες καποιος κατι κανεις τιποτα ξερεις ξερουμε πες "
    "θυμασαι πρεπει μπορει ειμαι εισαι ειμαστε μεχρι επισης ολα ολοι "
    # Arabic, Persian
    "في من الى على عن مع هو هي هم انا انت نحن هذا هذه ذلك تلك الذي التي ما ماذا من اين متى لماذا كيف كم هل "
    "اي لا ليس كان "
    "كانت يكون لدى له لها و او ثم قد ان الان عند "
    "در به از با برای که این آن را است هست بود چه چی کی کجا کجاست چرا چگونه چطور کدام چند من تو او ما شما "
    "آنها و یا نه می "
    "تعرف نعرف اخبرني تذكر عنه عنها منه منها فيه فيها انه هناك هنا كل بعض احد شيء الذين "
    # Hebrew
    "של את על עם אל מן הוא היא הם הן אני אתה אנחנו זה זאת אלה מה מי איפה היכן מתי למה מדוע איך כמה האם לא "
    "כן יש אין היה "
    "היתה או גם רק כי אשר איזה איזו לאן מאיפה עכשיו שלי שלו שלה אצל "
    "אותו אותה אותם לו לה להם שלך שלנו שלהם מישהו משהו אף כל יודע יודעת יודעים זוכר היו הייתה עוד מאוד "
    # Hindi
    "है हैं था थी थे हो का की के को से में पर और या नहीं यह वह ये वे क्या कौन कौनसा किस किसका कहाँ कहां कब "
    "क्यों कैसे कितना कितने मैं हम "
    "तुम आप मेरा मेरी उसका इस उस ने भी तो ही अब रहा रही रहे करता करती करते "
    "हमारा हमारी तुम्हारा उनका उनकी उनके उसकी उसके इसका इसकी किसकी किसके किसने किसे किसको कोई कुछ सब बारे पता "
    "बताओ "
    # Korean
    "누구 누가 누구의 누구야 무엇 무엇을 뭐 뭘 뭐야 어디 어디에 어디서 어디에서 "
    "어디야 언제 왜 어떻게 어떤 어느 몇 얼마나 이 그 저 있어 있어요 있나요 있습니까 "
    "인가요 입니까 이에요 예요 는 은 이 가 을 를 의 에 에서 와 과 그리고 지금 하나요 합니까 무슨 대한 대해"
)
AMBIGUOUS: Final = (
    "car war hat die son sole come dove pour men man van may will art main sin sur on do to or nor per tu "
    "al ten ma mi ta "
    "son bin bor dos dan mana ada kan ben dia ai an ban co ne ja je de la le as es me os se te us it is am "
    "she he so too "
    "sa si su var vi ton ens ora fra ok "
    # Names and things elsewhere
    "cat door dell hoe hay kim mia ella elle mika ole maja hans sina till mina yang tama ona lui han hun"
)
# Found they count a little; nobody misses them.
WEAK_WORDS: Final = (
    "user users person people thing things info information detail details data fact facts note notes "
    "memory memories name "
    "named called current latest new old recent favorite favourite preferred favorites related topic entity "
    "entities "
    "kind type sort exact own use used using stuff list "
    "nutzer benutzer name namen person personen leute info informationen heisst bevorzugt "
    "utilisateur nom personne gens information informations prefere preferee appelle usuario nombre persona "
    "personas gente "
    "informacion favorito favorita llama nome pessoa pessoas informacao preferido preferida chama utente "
    "informazioni "
    "preferito preferita chiama gebruiker naam mensen имя человек люди информация любимый любимая имени "
    "зовут imie osoba "
    "ludzie ulubiony ulubiona ulubione isim kisi favori adi kim nimi henkilo nev szemely namn navn "
    # What one asks of whatever is named beside it; what was written down is seldom this word
    "address location role job occupation profession status phone telephone number email contact description "
    "summary overview "
    "adresse standort rolle beruf telefon telefonnummer nummer kontakt metier telephone numero direccion "
    "telefono ubicacion profesion "
    "endereco telefone numero profissao indirizzo lavoro adres telefoonnummer beroep telefonnummer yrke "
    "adres zawod numer meslek numara "
    "адрес телефон номер работа профессия должность робота професія διευθυνση τηλεφωνο επαγγελμα "
    "주소 직업 전화번호 직원 رقم عنوان مهنة "
    # What most people do; which of these words was written down is chance
    "like likes liked love loves enjoy enjoys prefer prefers preference want wants need needs live lives "
    "lived work works play "
    "plays mag mogen liebt wohnt lebt arbeitet spielt aime aiment adore habite travaille joue vive viven "
    "trabaja gusta gustan "
    "juega mora trabalha gosta joga abita vive lavora piace gioca woont werkt houdt speelt bor arbetar "
    "arbejder arbeider gillar "
    "asuu pitaa mieszka pracuje lubi bydli pracuje lakik dolgozik szereti yasiyor calisiyor seviyor "
    "oturuyor живет работает любит "
    "мешкає живе працює любить μενει δουλευει locuieste lucreaza place tinggal bekerja suka يعيش يسكن يعمل "
    "يحب גר גרה עובד עובדת אוהב אוהבת "
    "yasayan yasayanlar calisan calisanlar yasar calisir "
    "jmenuje jmenuji nazywa nazywaja hivjak heter kallas hedder heet "
    # Who, and what everybody does
    "사람 분 이름 شخص اسم אדם שם ατομο ονομα व्यक्ति नाम nguoi orang personer ember emberek clovek lide jmeno meno "
    "czlowiek persoana oameni nume persoon ging lauft arrive occupe occupent vai maken gaar jedzie chodzi chodi "
    "idet едет іде gelecek gidecek πηγαινει "
    "रहता रहती पसंद 살아요 살아 살고 좋아해 좋아하는 일해요"
)
# What one asks about a thing that is named beside it: hardly missed, and never all that an answer is built on.
ATTRIBUTES: Final = (
    # English
    "account accounts age agenda algorithm amount amounts analysis answer approach appointment architecture area "
    "author background balance bill booking brand budget calories capacity cause class code color colour comment "
    "comments condition conditions config configuration confirmation cost costs country coverage credentials "
    "dashboard dashboards date dates day days deadline decision decisions definition delivery dependencies "
    "dependency deployment design difference discount documentation docs dosage dose due duration error errors "
    "example examples experience expiration expiry feature features fee fees feedback format goal goals guide "
    "health height history hobby hobbies hour hours idea ideas implementation index ingredients instructions "
    "insurance integration interest interests inventory issue issues item items key language languages length "
    "lesson lessons level license licence limit limits link links log logs long maintenance management manual "
    "mapping material meaning medication meeting meetings method methods model models nationality news occasion "
    "opening opinion option options order orders origin outcome owner owners page parameter parameters password "
    "passwords path pattern patterns payment payments performance permissions personality plan planned points plans "
    "policy policies position premium price prices pricing problem problems procedure procedures process progress "
    "project projects purpose quantity quote rate rates rating reason reasons recommendation renewal repair "
    "report reports requirement requirements reservation restriction restrictions result results review reviews "
    "roadmap routine routines rule rules salary schedule schema score season series service services session "
    "sessions setting settings setup shift size skill skills solution spec specification specs start state "
    "statistics status step steps story strategy style subject support symptoms system target task tasks team "
    "teams technique technology temperature template terms test tests ticket tickets time timeline times tips "
    "title tool tools tracking training treatment trip updates update upgrade url usage value values version "
    "versions visit warranty website weather week weight workflow year years monday tuesday wednesday thursday "
    "friday saturday sunday january february march april june july august september october november december "
    # German
    "alter anfang anleitung ausgabe beginn bestellung betrag bewertung dauer datum einstellung einstellungen ende "
    "farbe fehler frist gehalt geschichte gewicht grosse grund hohe konfiguration kosten lange lang menge miete "
    "passwort preis preise rechnung regel regeln reparatur sprache sprachen stand tag termin termine uhrzeit "
    "ursache vertrag wartung ziel ziele zeit zeiten zustand "
    # French
    "abonnement annee but cout couts couleur debut delai duree etat facture fin heure heures histoire horaire "
    "horaires langue langues loyer modele motif objectif passe plat poids prix probleme projet raison recette "
    "rendez salaire taille tarif vous "
    # Spanish, Portuguese, Italian
    "ano anos causa codigo colore coste costo custo data datas dia dias dieta durata duracion duracao edad "
    "edicion empleo eta estado fecha fechas giorno hora horas horario horarios idade idioma idiomas inicio lingua "
    "linguas lingue medida meta metas modelo motivo obiettivo objetivo orario orari ora peso precio preco "
    "presupuesto prezzo problema proyecto reserva salario senha stato stipendio talla taglia tamano tamanho tempo "
    "tiempo vez hace "
    # Dutch, Scandinavian, Finnish
    "bedrag doel duur grootte kleur leeftijd prijs taal tijd tijden wachtwoord alder dato farg farge farve pris "
    "sprak sprog storlek storrelse tid tidpunkt aika hinta ika kieli koko paiva paivamaara vari "
    # Polish, Czech, Hungarian, Turkish, Indonesian
    "cel cena czas godzina haslo jezyk kolor koszt rozmiar wiek barva cas heslo jazyk velikost vek ar idopont kor "
    "meret szin dil fiyat fiyati hedef rengi renk saat sifre sure tarih tarihi yas yasi harga jadwal tanggal umur "
    "usia waktu warna "
    # Russian, Ukrainian, Greek
    "возраст время график дата день стоимость размер пароль причина расписание срок сроки цвет цель цена язык "
    "языки вартість вік колір мета мова розмір розклад термін ціна час ηλικια ημερομηνια τιμη ωρα χρωμα "
    # Arabic, Hebrew, Hindi, Korean
    "تاريخ سعر ثمن لون موعد وقت عمر لغة סיסמה גיל זמן מחיר צבע שעה תאריך कीमत उम्र तारीख रंग समय 가격 나이 날짜 비밀번호 "
    "시간 색 색깔 일정 언어 "
    # Verbs of questions: what was written down is seldom this one
    "keep keeps kept decide decided decides mention mentioned happen happens happened agree agreed ask asked "
    "call called bring give gave take takes took make makes made go goes went come comes came going coming "
    "leave leaves left begin begins began starts started end ends ended finish finished buy bought pay pays "
    "paid own owns handle handles handled charge charges run runs stay stays stayed meet meets met talk "
    "talked speak speaks spoke discuss discussed change changed move moved planning think thinks feel feels "
    "wear believe seem belong belongs mean means still yet ever again exactly kind kommt kommen kam liegt "
    "liegen steht stehen macht machen gemacht geht gehen kostet gehort beginnt endet sagt gesagt findet "
    "braucht bekommt heissen bleibt noch eigentlich vient viennent fait font faire va vont coute appartient "
    "commence finit dit pense parle prend prefere encore deja viene vienen hacen hacer van cuesta cuestan "
    "empieza termina dice dijo piensa habla pertenece todavia vem vao faz fazem custa custam comeca disse "
    "fala pertence ainda vengono fa fanno fare vanno costa costano inizia finisce parla appartiene ancora "
    "komt komen gaat gaan ligt liggen staat staan doet doen maakt kost begint eindigt zegt hoeveel nog kommer "
    "ligger ligg gar gor star kostar heter sager borjar slutar laver gjor siger ligge koster hedder begynner "
    "tulee menee tekee maksaa alkaa loppuu sanoo sijaitsee przychodzi przyjdzie idzie robi kosztuje zaczyna "
    "konczy mowi lezy stoi prijde prichazi jde dela stoji zacina konci rika lezi jon megy csinal kerul "
    "kezdodik geliyor gidiyor yapiyor tutuyor basliyor bitiyor kaliyor diyor datang pergi melakukan dimulai "
    "berakhir приходит идет делает стоит начинается заканчивается говорит находится лежит занимается "
    "приходить йде робить коштує починається каже знаходиться лежить займається ερχεται παει κανει κοστιζει "
    "αρχιζει λεει βρισκεται يفعل يأتي يذهب يكلف يبدأ يقول עושה בא הולך עולה מתחיל אומר נמצא "
    # Spans of time
    "jahr jahre jahren woche wochen monat monate stunde stunden uhr semaine mois jour jours semana semanas meses "
    "anno anni settimana mese mesi giorni jaar jaren maand dag dagen uur vecka manad timme uke maned roku "
    "tydzien miesiac dzien godzinie mesic tyden hodina honap yil hafta год года лет неделя "
    "месяц дни часов году рік тиждень місяць година vuosi vuonna viikko kuukausi tunti "
)
# Phrases of scripts that write no spaces: longer ones are taken out first.
PHRASES: Final = (
    # Chinese
    "在哪里 在哪儿 哪里 哪儿 什么时候 什么 怎么样 怎么 怎样 为什么 多少 是谁 "
    "谁 几 吗 呢 吧 的 了 是 有没有 有 请问 请 告诉我 关于 和 与 在 "
    "我们 我 你 他 她 它 这个 那个 这 那 哪个 哪些 哪 一个 "
    "也 都 还 現在 现在 什麼時候 什麼 哪裡 哪裏 誰 嗎 為什麼 怎麼 "
    # Japanese
    "ですか ますか でしょうか ましたか ていますか でいますか していますか "
    "しています ています でいます しているか している ている でいる "
    "していた ていた でいた しました ました ません ます です でした する "
    "した して される いつ どこで どこに どこへ どこ だれ なにを なに なん "
    "どのように どうやって どう どの どんな どれ どちら いくつ なぜ について "
    "に関する について教えて 教えて ください という こと もの ある いる あります "
    "います から まで より では には とは のは は が を に で と も の へ や か ね よ って 何ですか 何 誰が 誰の 誰 今 "
    # Thai
    "ที่ไหน อยู่ที่ไหน อะไร ใคร เมื่อไหร่ เมื่อไร ทำไม อย่างไร ยังไง เท่าไหร่ เท่าไร กี่ ไหม หรือไม่ คือ "
    "ของ และ หรือ ที่ ใน กับ เป็น มี อยู่ "
    "ไม่ ได้ ให้ จาก นี้ นั้น ตอนนี้ บ้าง ครับ ค่ะ คะ "
    # Lao, Khmer, Burmese
    "ຢູ່ໃສ ໃສ ຫຍັງ ໃຜ ເມື່ອໃດ ເປັນຫຍັງ ແນວໃດ ບໍ່ ຂອງ ແລະ ທີ່ ຢູ່ ແມ່ນ ມີ "
    "នៅឯណា នៅទីណា ឯណា ណា អ្វី នរណា អ្នកណា ពេលណា ហេតុអ្វី ដូចម្តេច របស់ និង នៅ គឺ មាន ទេ "
    "ဘယ်မှာ ဘာ ဘယ်သူ ဘယ်တော့ ဘယ်လို သလဲ လဲ နှင့် ၏ သည် မှာ ကို က "
)
# What follows the stem of a word, in any of the languages: endings of cases, numbers, persons and tenses.
ENDINGS: Final = (
    # English
    "iness ily s es ed d ing er ers or ors ly y ies ied ion ions tion tions ation ations ment ments ness al able ible "
    "ive ist ists ism "
    "ner ners ning ting ping ming ding ging bing ling ned ted ped med ded ged bed led e ic ical ity ian "
    "ians an ans ish tic fully ful ally "
    "ize ized izes izing ise ised ises ising ance ence ant ent ants ents sion ception ship ships "
    # German, Dutch, Scandinavian
    "en er em es n t st te ten test tet et end ende enden ung ungen lich liche lichen isch ische ischen in "
    "innen heit keit e "
    "r ern s et ar or na arna orna erna ene ens ets a ade at ades ere este ende ing inga der lijk lijke "
    "schaft ig ige iger igen "
    # Romance
    "o a os as i is amos emos imos an aba aban abas ado ada ados adas ido ida idos idas ando iendo endo "
    "indo ar er ir ara era "
    "ira aria era eria iria aste iste aron ieron io ia ias ios mente cion ciones cao coes ao oes sao soes "
    "ez ent ons ait aient "
    "ee ees if ive ives eur euse eurs ement ements isme iste are ere ire ato ata ati ate ito ita iti ite "
    "uto uta ono ano iamo "
    "ete ava avano eva iva zione zioni mento menti ismo ista isti iste ico ica ici iche ieri iera iere ero "
    "era eri ica icos icas "
    "ei am em ou aram eram iram ais eis oso osa osos osas ul ului le lor ilor elor i ii iei esc este eaza "
    # Slavic in Latin letters
    "u ow owi owie ego emu ej ym im ych ich ymi imi ami ach om iem ie e y a o cie c l la lo li ly ka ki ke "
    "ku kiem ek kow kami "
    "uje uja owac owal owala ac al ala ali i em ou ove ovi um ech ich ami ami ne ni nych nego nej nie ny na "
    "no sky ska ske skie "
    "skiego skiej ski skim skich nik nika nikiem ova ovo ovu uv ovym ovych "
    # Finnish, Hungarian, Turkish
    "n a ta tta ssa sta lla lta lle ksi na t ja in en ien jen iden ita issa ista illa ilta ille iin een aan "
    "oon uun si ni nsa mme "
    "nne ko han an on un vat vt mme tte lee la ssä ut nut neet taan ttu ttava va vat minen misen ilija inen "
    "isen ista iset aisen "
    "ainen gin gissa gista giin ki kin ban ben bol nak nek val vel hoz hez ra re rol tol ert kent k ok ek "
    "ak ot et at om em am ja "
    "jan je jat jet jai jei i as es os ott ett ik unk tok tek nak ni go ozik ezik ozol ozni ezni eset esek "
    "ul okat eket akat asa "
    "ese lar ler da de ta te dan den tan ten in un nin nun i u a e ya ye yi yu si su im um imiz umuz iniz "
    "unuz larda lerde lardan "
    "lerden larin lerin lari leri larinda lerinde inda inde undan unda sinda sinde sindan sinden iyor uyor "
    "yor iyorum uyorum iyorlar "
    "di du ti tu dim tim dum mis mus mek mak an en acak ecek li lu siz suz lik luk ci cu mak masi mesi arak "
    "erek diyor yla yle la le "
    "nda nde ndan nden na ne ligi lugu isi asi ir ar er dir dur "
    # Indonesian, Vietnamese have few
    "nya kan i an "
    # Russian, Ukrainian, Bulgarian
    "а я ы и у ю е о й ь ои еи ом ем ам ям ами ями ах ях ов ев ии ыи ая яя ое ее ые ие ого его ому ему ым "
    "им ых их ыми ими ую юю ою "
    "ею ть л ла ло ли ет ит ешь ишь ете ите ют ят ут ат ал ала али ало ает ают ил ила или ило еть ить ать "
    "ять ешь ся сь ется ится аться яться иться еться нуться ался алась алось ались ился илась илось ились "
    "аемся аюсь аешься ишься имся юсь усь утся ятся атся увся ався алася илася ується аються еться "
    "ается ются ник ника ники ников ница ство ства ка ки ку ке кои ок ек ия ию ием иеи иях ость ости ныи "
    "ная ное ные ного нои ном "
    "ских скии ская ское ские ского скои ском ован овал овала ует уют ивал ыва ывает ати ити є ї і ів ові "
    "еві ою ею ти в ла ют уть ає "
    "ають ить ять иться ується ськии ська ське ські т та ът ят те "
    # Greek
    "ος ου ο ον οι ων ους η ης ην ες α ας αν ια ιας ιων ι ιου ιο ω εις ει ουμε ετε ουν ουνε αω αει ας αμε "
    "ατε ανε σε σα σαν εται ονται "
    "μαι σαι ται νται ικος ικη ικο ικα ικου "
    # Arabic, Persian, Hebrew
    "ه ها هم هن ات ان ون ين ي ك نا ني ا وا ت تي يه ية ى هاي هاى های ام اش "
    "ים ות י ה ת ו יה יו נו כם הם ת תי נו ית יים יות ני "
    # Hindi
    "ा ी े ो ि ू ु ें ों ां ाँ ता ती ते ना नी ने या यी ये ए ई कर ते "
)
# Korean particles and endings, which are written together with the word.
KOREAN_ENDINGS: Final = (
    "은 는 이 가 을 를 의 에 에서 에게 께 한테 로 으로 와 과 랑 이랑 "
    "도 만 까지 부터 처럼 보다 이나 나 야 이야 요 예요 이에요 입니다 "
    "다 고 서 며 면 지 네 니 음 기 해요 해 합니다 했다 했어요 하는 "
    "하다 한다 하고 하나요 합니까 하세요 아요 어요 았어요 었어요 습니다 "
    "ㅂ니다 는데 에는 에서는 들 들이 들은 들을 아 어 여 죠 자 하며 으며 "
    "하여 한 할 된 되는 된다 이다 인 적 적인 씨 씨는 씨가 씨의 님 님은 님이"
)
# Written before an Arabic or Hebrew word and together with it; also the persons of Arabic verbs.
PREFIXES: Final = "وال بال كال فال لل ال و ف ب ل ك ي ت ن ا س سي ست وי וה שה כש מה לה בה ה ו ב ל מ ש כ י ת"
# After an apostrophe: English, and Turkish cases.
AFTER_APOSTROPHE: Final = (
    "s t re ve ll d m in un nin nun i u a e ya ye yi yu da de ta te dan den tan ten nda nde na ne la le yla "
    "yle lu li daki deki taki teki dakiler dekiler takiler tekiler"
)
# In a language that gives every noun a capital, one tells no name.
NOUNS_HAVE_CAPITALS: Final = (
    "wer wo wann was wie warum welche welcher welches hat haben ist sind der das dem den eine ein einen "
    "einer mein meine "
    "meinen und von vom im am gibt fur gegen mit bei zum zur"
)
# Months, the twelve in a row: what stands beside a day or a year may be written as a number elsewhere.
MONTHS: Final = (
    "january jan januar janvier enero janeiro gennaio januari stycznia leden ledna ocak января січня",
    "february feb februar fevrier febrero fevereiro febbraio februari lutego unor unora subat февраля лютого",
    "march mar marz mars marzo marco maart marca brezen brezna mart марта березня",
    "april apr avril abril aprile kwietnia duben dubna nisan апреля квітня",
    "may mai mayo maio maggio mei maja kveten kvetna mayis мая травня",
    "june jun juni juin junio junho giugno czerwca cerven cervna haziran июня червня",
    "july jul juli juillet julio julho luglio lipca cervenec cervence temmuz июля липня",
    "august aug aout agosto augustus augusti sierpnia srpen srpna agustos августа серпня",
    "september sep sept septembre septiembre setembro settembre wrzesnia zari eylul сентября вересня",
    "october oct oktober octobre octubre outubro ottobre pazdziernika rijen rijna ekim октября жовтня",
    "november nov novembre noviembre novembro listopada listopad listopadu kasim ноября листопада",
    "december dec dezember decembre diciembre dezembro dicembre grudnia prosinec prosince aralik декабря грудня",
)

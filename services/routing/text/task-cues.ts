/**
 * Words that say what is to be done, by language: English, German, French, Spanish, Portuguese, Italian,
 * Dutch, Polish, Turkish, Vietnamese, Russian, then scripts without spaces or with affixes, which are
 * searched in the text itself. `*` stands for any ending.
 */
export const taskCues = {
  greet: 'hi hello hey thanks hallo danke bonjour merci hola gracias ola obrigado obrigada ciao grazie bedankt ' +
    'dank dziekuje dziękuję merhaba tesekkurler teşekkürler привет спасибо 谢谢 謝謝 ありがとう 감사 شكرا תודה धन्यवाद ขอบคุณ',
  translate: 'translat* übersetz* ubersetz* tradui* traduz* traduc* tradur* vertaal* vertal* przetlumacz* przetłumacz* ' +
    'çevir* cevir* dịch перевод* перевед* 翻译 翻譯 翻訳 번역 ترجم תרגם अनुवाद แปล',
  rewrite: 'rewrite rephrase paraphrase shorten shorter correct spelling typo proofread convert round rename fix ' +
    'korrigier* umformulier* corrige* reformul* corregir reescrib* исправ* 改写 修正 校正',
  extract: 'extract classify categorize sentiment extrahier* extrai* extrae* klassifizier* ' +
    'classifi* извлек* 提取 抽出 分类 분류',
  summarize: 'summar* zusammenfass* résum* resum* resumir riassum* samenvat* streszcz* özetle* кратко 总结 要約 요약 لخص สรุป',
  compose: 'story poem essay email letter blog article speech haiku sonnet wish slogan gedicht aufsatz brief poème poeme cuento ' +
    'poema carta racconto verhaal wiersz рассказ письмо стих* 写一 作文 詩 소설 قصيدة',
  explain: 'explain why describe discuss compare erklär* erklar* warum vergleich* expliqu* pourquoi compar* explic* explica ' +
    'spiega perché waarom uitleg* leg* wyjaśn* dlaczego açıkla* neden объясн* почему сравн* 解释 为什么 说明 説明 なぜ 설명 اشرح למה ' +
    'הסבר समझा อธิบาย',
  analyze: 'analy* evaluat* assess* diagnos* weigh* weighing argue justif* bewert* beurteil* begründ* évalu* evalú* avali* ' +
    'valuta* oceń проанализир* оцен* анализ* 分析 评估 証拠 분석 حلل נתח विश्लेषण วิเคราะห์ phân tích trade-off* tradeoff* ' +
    'compromis* abwägung* afweging* 权衡 トレードオフ',
  prove: 'prove proof disprove derive deriv* theorem leite herleit* lemma converge* contradiction beweis* beweise démontr* demontr* ' +
    'demuestr* demostr* demonstr* dimostr* bewijs* udowodni* dowód kanıtla* ispat* докаж* доказ* теорем* théorème teorema ' +
    '证明 證明 証明 증명 أثبت اثبت برهان הוכח सिद्ध प्रमाण พิสูจน์ chứng minh',
  code: 'code function python javascript typescript java rust go golang sql c++ regex bash script api class compiler parser ' +
    'scheduler emulator assembler allocator daemon ' +
    'programm* program implement* implementa* écrivez escreva schreibe fonction funktion función funcao funkcj* функци* программ* ' +
    'напиши* напишите 代码 函数 用rust 用python 実装 コード 함수 코드 كود קוד',
  debug: 'debug bug leak* leaks race crash* deadlock* fails failing heap error exception segfault fehler erreur отлад* ошибк* ' +
    '调试 バグ 디버그',
  refactor: 'refactor* migrat* optimis* optimiz* modulari* rückbau refaktor* рефактор* 重构 リファクタ',
  design: 'design* architect* architektur* entwirf entwerf* concevez conçois conceb* diseñ* disen* projet* progett* ontwerp* ' +
    'zaprojekt* tasarla* спроектир* проектир* strategy roadmap 设计 設計 설계 صمم',
  calculate: 'compute calculate evaluate solve integral equation sum average derivative berechne löse calcul* résou* calcula ' +
    'resolv* resuelv* risolv* oblicz* rozwiąż hesapla вычисли* реши* 计算 求解 計算 계산 احسب',
  estimate: 'estimat* assumptions forecast* schätz* estim* 估计 推定'
} as const

/** Words that make a task of any kind harder, or easier. */
export const difficultyCues = {
  harder: 'concurren* distribut* verteilt* nebenläufig* distribué* distribuid* gedistribueerd* lock-free race backpressure ' +
    'asynchron* consisten* konsisten* cohéren* consensus partition* fault* tolera* toléra* shard* complex* komplex* ' +
    'linear-time memory ordering invarian* rigor* formal* edge optimal* asymptot* stochastic bayes* posterior minimax manifold* ' +
    'topolog* eigen* transcenden* irrational* continu* infini* countab* generaliz* generalis* verallgemein* généralis* ' +
    'pathophysiolog* hyponatr* mutants feedback counterexample* exact precise annotate interleaved unreliable iambic without ' +
    'every must constraint* concurrente interbloque* сложност* блокировок потокобезопас* 并发 无锁 分布式 一致性 复杂度 推广 精确 分散 整合性 ' +
    '一般化 분산 복잡도 합의 무한 无穷 無限 أعداد غير منتهية עם אינסוף अनंत ซับซ้อน จำกัด vô hạn độ phức tạp',
  easier: 'simple basic short single yes no hello world quick briefly one einfach kurz simplement simple corto breve krótko ' +
    'коротко 简单 簡単 간단',
  /** One more request in the same sentence; counts where tools are on offer. */
  further: 'and also then respectively additionally both each another second secondly third finally lastly afterwards und auch ' +
    'dann danach außerdem jeweils et aussi puis ensuite également y también luego después e também depois anche poi dopo en ook daarna ' +
    'oraz też potem ve ayrıca sonra và rồi и также затем потом dan juga kemudian 和 以及 然后 然後 还 また そして それから 그리고 또한 ثم أيضا וגם और फिर และ แล้ว'
} as const

/** What is said to be polite before a request, in the languages of most prompts. */
const before = new RegExp('^(?:' + [
  '(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there)?[,!.:]*',
  'dear [\\p{L}-]+[,!:]', '(?:excuse me|sorry to bother you)[,!.:]*', 'i hope you are (?:doing )?well[,!.]*',
  '(?:please|pls|kindly|thanks|thank you)[,:!]*',
  '(?:could|can|would|will) you (?:please |kindly |perhaps )?', 'would you mind ',
  'i(?: would|[\'’]d) (?:like|love) (?:you to|to know)[:,]?', 'i (?:want|need) you to ',
  'i was wondering (?:if you could|whether you could)', '(?:tell|help) me(?: please)?[:,]',
  '(?:hallo|guten tag|hi)[,!]', 'bitte[,:]?', '(?:könntest du|könnten sie|kannst du|können sie)(?: bitte)?', 'sag mir(?: bitte)?[:,]',
  'bonjour[,!]', 's[\'’]il (?:te|vous) pla[iî]t[,:]?', '(?:pourrais-tu|pourriez-vous|peux-tu|pouvez-vous)', 'dis-moi[:,]',
  '[¡]?hola[,!]', 'por favor[,:]?', '(?:podrías|podría|puedes|puede)(?: usted)?(?: por favor)?', 'dime[:,]',
  'olá[,!]', 'você (?:poderia|pode)', 'ciao[,!]', 'per favore[,:]?', '(?:potresti|puoi)', 'alsjeblieft[,:]?', 'proszę[,:]?',
  'lütfen[,:]?', 'пожалуйста[,:]?', '(?:здравствуйте|привет)[,!]', '(?:не )?могли бы вы',
  '请问?[，：:]?', '麻烦(?:你|您)?[，：]?', '你好[，！!]', 'すみませんが?、?', 'お手数ですが、?', 'من فضلك[،:]?', 'कृपया,?', 'กรุณา'
].join('|') + ')\\s*', 'iu')

const after = new RegExp('(?:[\\s,，、]+(?:' + [
  '(?:please|pls|thanks|thank you|thx|cheers)(?: (?:so much|very much|a lot|in advance|you))*', 'bitte', 'danke(?: schön| im voraus)?',
  's[\'’]il (?:te|vous) pla[iî]t', 'merci(?: d[\'’]avance| beaucoup)?', 'por favor', 'gracias(?: de antemano)?', 'obrigad[oa]',
  'per favore', 'grazie(?: mille)?', 'proszę', 'dziękuję', 'lütfen', 'teşekkürler', 'пожалуйста', 'спасибо(?: заранее)?',
  '谢谢', 'お願いします', 'شكرا', 'धन्यवाद'
].join('|') + ')|[。．.!?？]\\s*(?:谢谢|お願いします|ありがとう(?:ございます)?))[.!。！\\s]*$', 'iu')

const maxPhrases = 6
/** No phrase is longer, so that a long text costs nothing. */
const maxChars = 160

/**
 * The text without the polite phrases around it, as it would begin and end without them: they say nothing of
 * the task. Returns the text itself where it has none, or nothing else.
 */
export function withoutPoliteness (text: string): string {
  const trimmed = text.trim()
  let [from, to] = [0, trimmed.length]
  let wasAsked = false
  for (let phrases = 0; phrases < maxPhrases; phrases++) {
    const found = before.exec(trimmed.slice(from, Math.min(to, from + maxChars)))?.[0]
    if (found === undefined || found === '') break
    wasAsked ||= /\b(?:you|du|sie|tu|vous|mind)\b|pod|pode|pot|puo|бы/iu.test(found)
    from += found.length
  }
  for (let phrases = 0; phrases < maxPhrases; phrases++) {
    const start = Math.max(from, to - maxChars)
    const found = after.exec(trimmed.slice(start, to))
    if (found === null) break
    to = start + found.index + (/^[。．.!?？]/.test(found[0]) ? 1 : 0)
  }
  const kept = trimmed.slice(from, to).trim()
  if (kept === '' || (from === 0 && to === trimmed.length)) return text
  const sentence = kept.charAt(0).toUpperCase() + kept.slice(1)
  // "Could you prove it?" is no question, and neither is "Prove it" without its stop.
  const isOpen = /[\p{L}\p{N}]$/u.test(sentence)
  const hasMore = /[.!?]\s/.test(sentence)
  if (wasAsked && !hasMore && sentence.endsWith('?')) return `${sentence.slice(0, -1)}.`
  return isOpen && to < trimmed.length ? `${sentence}.` : sentence
}

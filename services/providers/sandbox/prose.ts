import type { AttachmentCounts, ChatContext, ToolResult } from './chat-context.ts'
import { joinList, truncate, topicWords } from './words.ts'

/** A few sentences about the conversation; variants below `variantCount` differ. */
export function prose (context: ChatContext, variant: number): string {
  const { toolResults } = context
  const pick = picker(variant)
  const sentences = toolResults.length > 0
    ? [pick(reports), ...toolResults.slice(0, 5).map(reportOf), pick(checks)]
    : replyTo(context.readText, pick)
  return [...sentences, ...contextOf(context), pick(notices), pick(closings)].join(' ')
}

/** The reply to `response_format: {type: 'json_object'}`: the same sentences in a JSON object. */
export function jsonProse (context: ChatContext, variant: number): string {
  const topics = topicWords(context.readText).slice(0, 3)
  return JSON.stringify({ answer: prose(context, variant), topics, sandbox: true })
}

type Pick = (texts: readonly string[]) => string

// Mixed radix: reads one digit of the variant per choice, so that no two variants choose alike.
function picker (variant: number): Pick {
  let rest = variant
  return texts => {
    const text = texts[rest % texts.length] ?? ''
    rest = Math.floor(rest / texts.length)
    return text
  }
}

function replyTo (text: string, pick: Pick): string[] {
  const quote = quoteOf(text, 90)
  const topics = topicWords(text).slice(0, 3).map(word => `“${word}”`)
  const values: Record<string, string> = { quote, topic: topics[0] ?? '', topics: joinList(topics) }
  const sentences = [pick(quote === '' ? silences : openings), pick(topics.length > 0 ? suggestions : offers)]
  const filled = sentences.map(sentence => sentence.replace(/\{(\w+)\}/, (_, name: string) => values[name] ?? ''))
  return greeting.test(text) ? ['Hello!', ...filled] : filled
}

const greeting = /^\s*(?:hi|hello|hey|good (?:morning|day|afternoon|evening))\b/i

// Strips trailing punctuation, which the surrounding sentence adds.
function quoteOf (text: string, maxCharacters: number): string {
  const whole = truncate(text, maxCharacters)
  return whole.replace(/[.!,;:\s]{1,10}$/u, '') || whole
}

function contextOf ({ instructions, turns, attached }: ChatContext): string[] {
  const sentences: string[] = []
  if (instructions !== '') sentences.push(`I follow your instructions, “${quoteOf(instructions, 60)}”.`)
  if (turns > 1) sentences.push(`This is turn ${turns} of our conversation.`)
  const things = attachmentsOf(attached)
  if (things.length > 0) sentences.push(`You attached ${joinList(things)}, which I can count but not read.`)
  return sentences
}

function attachmentsOf (attached: AttachmentCounts): string[] {
  const counted = [
    { count: attached.image, one: 'image', many: 'images' },
    { count: attached.audio, one: 'audio clip', many: 'audio clips' },
    { count: attached.file, one: 'file', many: 'files' },
    { count: attached.video, one: 'video', many: 'videos' }
  ]
  return counted.filter(({ count }) => count > 0)
    .map(({ count, one, many }) => `${count} ${count === 1 ? one : many}`)
}

function reportOf ({ name, content }: ToolResult): string {
  const fields = fieldsOf(content)
  return fields === null
    ? `The tool ${name} answered “${truncate(content, 300)}”.`
    : `The tool ${name} answered with ${fields}.`
}

function fieldsOf (content: string): string | null {
  if (!content.trimStart().startsWith('{')) return null
  let result: unknown
  try {
    result = JSON.parse(content)
  } catch {
    // Not JSON: quoted verbatim.
    return null
  }
  const fields = Object.entries(Object(result)).slice(0, 8)
  if (fields.length === 0) return null
  return joinList(fields.map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${truncate(key, 40).replaceAll('_', ' ')} ${truncate(text, 80)}`
  }))
}

const openings = [
  'You wrote: “{quote}”.',
  'Thank you for your message: “{quote}”.',
  'Let me respond to what you wrote: “{quote}”.',
  'I have read your message: “{quote}”.',
  'Sure. You said: “{quote}”.'
]

const silences = [
  'There is no text in your last message.',
  'Your last message came without text.',
  'I cannot find any words in your last message.',
  'Your last message contains no text that I could answer.',
  'I received no text with your last message.'
]

const suggestions = [
  'I would start with {topic}: say what it is, give a small example, and name the most common mistake.',
  'The words that stand out are {topics}; a full answer would explain them one by one and then put them together.',
  'Three things matter for {topic}: what you have, what you want, and what may go wrong on the way.',
  'A good next step is to write down what you know about {topics} and try the smallest part of it today.',
  'A short plan helps with {topics}: describe the goal, take the simplest path, then check the result.',
  'Most questions about {topic} become easier once they are split into small parts, each with its own example.'
]

const offers = [
  'Ask me about anything, and I will pick up the words you use.',
  'Tell me what you are working on, and I will answer in a few sentences.',
  'A question of a few words is enough to start.',
  'How can I help you today?',
  'What would you like to try first?',
  'Name a subject, and I will say something about it.'
]

const reports = [
  'Here is what I found.',
  'I have the result now.',
  'The answer has come back.',
  'This is the result.',
  'I looked it up for you.'
]

const checks = [
  'That should answer your question.',
  'Tell me if you want to know more.',
  'I can call it again with other values.',
  'There is nothing else to do on my side.',
  'Compare it with what you expected.',
  'I have added nothing to it.'
]

const notices = [
  'I am a sandbox model: my sentences are derived from your request, not generated by a language model.',
  'Please note that I am the sandbox, so I know nothing beyond the words you send me.',
  'As a sandbox model I answer the same request in the same way every time, which suits tests.'
]

const closings = [
  'Add a provider key, and a real model will answer the same request.',
  'Your application works just as it will with a real model behind this URL.',
  'When you are ready, choose a real model and leave everything else unchanged.'
]

/** The number of variants that differ from each other. */
export const variantCount = openings.length * suggestions.length * notices.length * closings.length

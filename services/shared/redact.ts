import { UpstreamError } from './errors.ts'
import { shownText } from './shown-text.ts'
import { escapePattern } from './escape-pattern.ts'

/** Longer texts are cut before they are searched. */
const maxSearched = 4_000
const maxWords = 500
/** Longer quotations are omitted. */
const maxQuoted = 80

/**
 * A provider's text without the operator's secrets: keys, tokens, addresses of servers, e-mail addresses, and
 * ids of organizations and projects. At most `maxLength` UTF-16 units and an ellipsis, valid Unicode in one
 * line. It filters typical forms; a secret that looks like ordinary text passes.
 */
export function redacted (text: string, maxLength: number): string {
  let clean = searched(text).toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  for (const [pattern, by] of rules) clean = clean.replace(pattern, by)
  return shownText(clean, maxLength)
}

/** The last text and its result, because a failure is written to several places. */
let latest = { text: '', words: '' }

/**
 * A provider's message for operators: redacted, and without long quotations, which may repeat the prompt.
 * Servers with pydantic repeat the rejected `input`.
 */
export function providerWords ({ message }: Pick<UpstreamError, 'message'>): string {
  const text = searched(message)
  if (text === latest.text) return latest.words
  const plain = withoutQuotations(text.replace(/(["']?\binput(?:_value)?["']?\s*[:=]).*/s, '$1 …'))
  const words = redacted(plain, maxWords)
  latest = { text, words }
  return words
}

/** The searched part of a text, without a last word that is cut in two and would not be recognized. */
function searched (text: string): string {
  if (text.length <= maxSearched) return text
  let end = maxSearched
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** The end of each quotation mark, also in nested JSON, where backslashes precede it. */
const closing: ReadonlyMap<string, string> = new Map([['"', '"'], ["'", "'"], ['`', '`'], ['“', '”'], ['«', '»'], ['「', '」']])
const mark = /(\\*)(["'`“”«»「」])/g

/** Replaces each long quotation by an ellipsis, even without its end, in linear time. */
function withoutQuotations (text: string): string {
  let result = ''
  let from = 0
  let opened: { by: string, escapes: number, at: number } | null = null
  for (const { 0: found, 1: { length: escapes } = '', 2: sign = '', index } of text.matchAll(mark)) {
    const end = index + found.length
    if (opened === null) {
      const by = closing.get(sign)
      const isOpening = by !== undefined && (sign !== "'" || !isLetter(text.charAt(index - 1)))
      if (isOpening) opened = { by, escapes, at: end }
    } else if (sign === opened.by && isSameLevel(escapes, opened.escapes) && (sign !== "'" || !isLetter(text.charAt(end)))) {
      if (index - opened.at >= maxQuoted) {
        result += `${text.slice(from, opened.at)}…`
        from = index
      }
      opened = null
    }
  }
  const isCut = opened !== null && text.length - opened.at >= maxQuoted
  return isCut ? `${result}${text.slice(from, opened?.at)}…` : result + text.slice(from)
}

/** Outside JSON, an even number of backslashes is literal text. */
const isSameLevel = (one: number, other: number): boolean => one === other || (other === 0 && one % 2 === 0)
/** An apostrophe has one beside it. */
const isLetter = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)

/** An error for the log: a provider's error, or its cause, with its message redacted or removed. */
export function loggable (error: Error, keepsWords: boolean): Error {
  const { cause } = error
  if (!(error instanceof UpstreamError)) {
    return cause instanceof Error ? withCause(error, loggable(cause, keepsWords)) : error
  }
  const { kind, sent, details: { status, code } } = error
  const words = keepsWords ? providerWords(error) : 'A call of a provider failed.'
  // Other causes quote the response.
  const isOfConnection = kind === 'network' || kind === 'timeout'
  const details = { status, code: plainCode(code) }
  return new UpstreamError(kind, sent, words, isOfConnection ? { ...details, cause: bare(cause) } : details)
}

/** An error without the unreadable bytes that a parser adds to it. */
function bare (error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack } = error
  return Object.assign(new Error(message), { name, stack }, 'code' in error && { code: error.code })
}

function withCause (error: Error, cause: Error): Error {
  if (cause === error.cause) return error
  const { name, message, stack } = error
  return Object.assign(new Error(message, { cause }), error, { name, stack })
}

/** A provider's `code` or `type` if it is a plain word, else null. */
export function plainCode (code: string | null | undefined): string | null {
  return code != null && /^[\w.:-]{1,100}$/.test(code) && redacted(code, 100) === code ? code : null
}

const secret = '[redacted]'
const server = '[server]'

/** Sites whose pages explain errors: their addresses reveal nothing about the operator. */
const publicSites = new RegExp(`^(?:[\\w-]+\\.)*(?:${(
  'openai.com anthropic.com claude.com google.com google.dev aka.ms microsoft.com mistral.ai groq.com together.ai openrouter.ai ' +
  'x.ai deepseek.com fireworks.ai cerebras.ai perplexity.ai nvidia.com huggingface.co moonshot.ai ' +
  'pydantic.dev vllm.ai github.com fal.ai replicate.com'
).split(' ').map(escapePattern).join('|')})$`)

function address (url: string): string {
  const { protocol = '', host = '', path = '' } =
    /^(?<protocol>[a-z+]+:\/\/)(?:[^/?#@]*@)?(?<host>[^/?#:]*)(?<path>[^?#]*)/i.exec(url)?.groups ?? {}
  return publicSites.test(host.toLowerCase()) ? `${protocol}${host}${path}` : server
}

const hasDigit = (text: string): boolean => /\d/.test(text)

/** Each takes linear time. The order matters: an address may hold a key. */
const rules: readonly [RegExp, (found: string, ...groups: string[]) => string][] = [
  [/\b[a-z][a-z+]{1,9}:\/\/[^\s"'<>`)\]}]+/gi, address],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, () => '[e-mail]'],
  // Named values, as in a header, JSON or a query.
  [new RegExp('\\b((?:proxy-)?authorization|(?:x-)?(?:goog-)?api[-_ ]?key(?: provided)?|(?:access|auth|id|refresh)?[-_ ]?token|' +
    '(?:client[-_ ]?)?secret|password|credentials?)\\b(["\'`]?\\s*[:=]\\s*["\'`]?)(?:(?:bearer|basic|key)\\s+)?[^\\s"\'`,;}&]+', 'gi'),
  (_, name = '', sign = '') => `${name}${sign}${secret}`],
  [/\b(api[-_ ]?key|token)(\s["'`]?)([\w.+/=-]{8,})/gi, (found, name = '', sign = '', value = '') =>
    hasDigit(value) ? `${name}${sign}${secret}` : found],
  [/\b(bearer|basic)\s+[\w.~+/=*-]{8,}/gi, (found, scheme = '') =>
    hasDigit(found) || found.length > 24 ? `${scheme} ${secret}` : found],
  [/\b(?:sk|rk|gsk|xai|pplx|nvapi|csk|tgp|hf|r8|ghp|glpat|whsec|xox[a-z]|AIza|AQ\.|AKIA|ASIA|ya29|eyJ)[-_.*\w]{5,}/g, () => secret],
  [/\b(?:org|proj|organization|project|acct|account|workspace|tenant|team|user)[-_][A-Za-z0-9]{6,}/g, found =>
    hasDigit(found) ? secret : found],
  [/\b(organizations?|projects?|workspaces?|tenants?|teams?|accounts?)([ /](?:id |number )?["'`:]?\s?)[\w-]*\d[\w-]{4,}/gi,
    (_, name = '', sign = '') => `${name}${sign}${secret}`],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, () => secret],
  // Addresses without a protocol.
  [/\b(host(?:name)?\s?[=:]\s?["']?|lookup |dial tcp |connect(?:ion)? to |ENOTFOUND |ECONNREFUSED )[\w.:[\]-]+/gi, (_, name = '') =>
    `${name}${server}`],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, () => server],
  // Eight groups, or fewer around `::`, unlike a time of day.
  [/(?<![\w:])\[?(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6})(?!\w)\]?(?::\d{1,5})?/gi,
    found => hasDigit(found) ? server : found],
  [/\blocalhost(?::\d{1,5})?\b/gi, () => server],
  [/\b[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.(?:internal|local|localdomain|lan|corp|intra|intranet|home|svc|consul|arpa)(?::\d{1,5})?\b/gi,
    () => server],
  [/\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}\.[a-z]{2,24}:\d{2,5}\b/gi, () => server],
  [/\b[\w-]{1,63}\.(?:openai\.azure|cognitiveservices\.azure|services\.ai\.azure|azure-api)\.(?:com|net)\b/gi, () => server],
  // Any other long run of letters and digits, except ids that the client has sent or received.
  [/(?:\b(?:call|toolu|chatcmpl(?:-tool)?|cmpl|req|resp|msg|rs|fc|file|gen)[-_])?[A-Za-z0-9]{24,}/g, found =>
    /[-_]/.test(found) || !hasDigit(found) || !/[A-Za-z]/.test(found) ? found : secret]
]

import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Answer, Completion } from './completions.ts'
import { cuts } from './cuts.ts'
import type { Script } from './exchange.ts'
import { document, errorsByStatus, refusal, reply } from './replies.ts'
import { halfClose, hangUp, head, reset, send, sequence, stall } from './steps.ts'

/** Every irregular answer that a client has to handle, by name. */
export const scripts = {
  // Timing and packets.
  slowHeaders: (delayMs: number, then = reply()) => sequence(() => pause(delayMs), then),
  /** Sends nothing until the promise resolves, then the given answer. */
  heldUntil: (opened: Promise<unknown>, then = reply()): Script => async (exchange) => {
    await Promise.race([opened, exchange.request.closed])
    return then(exchange)
  },
  slowBytes: (answer?: Answer) => reply(answer, { cut: cuts.everyByte }),
  splitCharacters: (answer?: Answer) => reply(answer, { cut: cuts.insideCharacters }),
  splitAnywhere: (seed: number, answer?: Answer) => reply(answer, { cut: cuts.anywhere(seed) }),
  onePacket: (answer?: Answer) => reply(answer, { cut: cuts.onePacket }),

  // Event streams in unusual formats.
  lineEnds: (lineEnd: '\r\n' | '\r', answer?: Answer) => reply(answer, {
    events: (events) => events.map((event) => event.replaceAll('\n', lineEnd))
  }),
  comments: (comment = 'keep-alive', answer?: Answer) => reply(answer, {
    events: (events) => events.map((event) => `: ${comment}\n\n${event}`)
  }),
  azure: (answer?: Answer) => reply(answer, { chunks: (chunks) => [azureOpening, ...chunks] }),
  gzip: (answer?: Answer) => reply(answer, {
    headers: { 'content-encoding': 'gzip' }, encode: (body) => gzipSync(body)
  }),
  wrongContentType: (contentType = 'text/html') => reply({}, { headers: { 'content-type': contentType } }),

  // Usage and ends.
  noUsage: (answer?: Answer) => reply(answer, {
    completion: ({ usage, ...rest }) => rest,
    chunks: (chunks) => chunks.filter(hasChoices).map(({ usage, ...rest }) => rest)
  }),
  groqUsage: (answer?: Answer) => reply(answer, {
    chunks: (chunks) => usageIntoFinish(chunks, (usage) => ({ x_groq: { id: 'req_01jbd6g2', usage } }))
  }),
  mergedUsage: (answer?: Answer) => reply(answer, {
    chunks: (chunks) => usageIntoFinish(chunks, (usage) => ({ usage }))
  }),
  eosFinish: (answer?: Answer) => reply({ ...answer, finishReason: 'eos' }),
  noDone: (answer?: Answer) => reply(answer, { events: (events) => events.slice(0, -1) }),
  dataAfterDone: (answer?: Answer) => reply(answer, {
    events: (events) => [...events, ...events.slice(0, 2)]
  }),
  /** The stream ends properly, but without a finish reason, usage or `[DONE]`. */
  noFinish: (answer?: Answer) => reply(answer, {
    chunks: (chunks) => chunks.filter((chunk) => hasChoices(chunk) && !isFinish(chunk)),
    events: (events) => events.slice(0, -1)
  }),

  // Errors with a proper body.
  refused: refusal,
  html: (status: number) => document(`<html><head><title>${status}</title></head><body>nginx</body></html>\n`, {
    status, headers: { 'content-type': 'text/html' }
  }),
  empty: (status: number) => document('', { status }),
  redirected: (location: string) => document('', { status: 307, headers: { location } }),
  errorIn200: () => document(JSON.stringify(upstreamFault)),
  /** The first `count` events, then an error event and the end. */
  errorAfter: (count: number, error: object = upstreamFault) => reply({}, {
    events: (all) => [...all.slice(0, count), `data: ${JSON.stringify(error)}\n\n`]
  }),
  /** OpenRouter's form: in a chunk, with a number as the code. */
  errorChunkAfter: (count: number) => scripts.errorAfter(count, openRouterFault),

  // Malformed answers.
  malformedJson: () => reply({}, { json: (text) => text.replace('":', '"') }),
  malformedEvent: (after = 1) => reply({}, {
    events: (events) => events.toSpliced(after, 0, 'data: {"id":\n\n')
  }),
  /** A JSON body that ends before its content-length. */
  truncatedJson: () => reply({}, { cut: cuts.breakAfter(1), end: hangUp }),

  // Connections that end early.
  resetBeforeHeaders: () => reset,
  resetAfterHeaders: () => sequence(jsonHead, reset),
  resetAfter: (count = 1) => reply({}, { cut: cuts.breakAfter(count), end: reset }),
  halfClosedAfter: (count = 1) => reply({}, { cut: cuts.breakAfter(count), end: halfClose }),
  /** Answers the first request on a connection and closes it when the second one arrives. */
  closedWhenReused: (then = reply()): Script => (exchange) => {
    return exchange.request.reused ? hangUp(exchange) : then(exchange)
  },

  // Too much and too little.
  endless: () => sequence(jsonHead, send(forever('x'.repeat(2 ** 20), '{"id":"'))),
  endlessEvent: () => sequence(streamHead, send(forever('x'.repeat(65_536), 'data: '))),
  pingFlood: () => sequence(streamHead, send(forever(': ping\n\n'))),
  giantEvent: (mebibytes: number) => reply({ text: ['x'.repeat(mebibytes * 2 ** 20)] }),
  silent: () => stall,
  stalledAfter: (count = 1) => reply({}, { cut: cuts.breakAfter(count), end: stall })
}

const upstreamFault = { error: errorsByStatus[500] }
const openRouterFault = {
  id: 'gen-1755133833',
  object: 'chat.completion.chunk',
  created: 1755133833,
  model: 'gpt-5-nano',
  error: { code: 502, message: 'Provider disconnected' },
  choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }]
}
const azureOpening = { choices: [], id: '', model: '', object: '', created: 0, prompt_filter_results: [] }
const jsonHead = head({ 'content-type': 'application/json' })
const streamHead = head({ 'content-type': 'text/event-stream' })

function isFinish ({ choices }: Completion): boolean {
  return choices.some((choice) => choice.finish_reason !== null)
}

function hasChoices ({ choices }: Completion): boolean {
  return choices.length > 0
}

/** Moves the usage from its own chunk into the one with the finish reason. */
function usageIntoFinish (chunks: Completion[], place: (usage: Completion['usage']) => object): Completion[] {
  const usage = chunks.find((chunk) => !hasChoices(chunk))?.usage
  return chunks.filter(hasChoices).map((chunk) => isFinish(chunk) ? { ...chunk, ...place(usage) } : chunk)
}

function * forever (text: string, opening = ''): Generator<Buffer> {
  const bytes = Buffer.from(text)
  yield Buffer.from(opening + text)
  while (true) yield bytes
}

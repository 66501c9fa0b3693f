import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv'
import type { Test } from 'tap'
import { knownVideo } from '../../../../services/config/catalogue/videos.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import type { VideoProvider, VideoTask } from '../../../../services/providers/provider-video.ts'
import type { FakeVideoApi, JobState } from '../../../servers/videos/fake-api.ts'
import { reply } from '../../../servers/videos/server.ts'
import { connect, framesFor, signal, taskFor } from './helper.ts'

/** A JSON schema derived from the types of a provider's own SDK. */
export type WireSchema = AnySchemaObject

export type Form = 'text' | 'picture' | 'frames'

/** What a provider's SDK says of its requests. Fields are dotted paths in the body. */
export interface Wire {
  api: FakeVideoApi
  models: readonly string[]
  /** The schema of a request with no picture, a first frame, or both; null: there is no such request. */
  request (model: string, form: Form): WireSchema | null
  fields: { seconds: string, seed: string, sound: string, sizes: readonly string[], text: string }
  /** What of the usual choices is different, for a model whose default has no sound, say. */
  usual?: (model: string) => Partial<VideoTask>
}

const fixtures = new Map<string, Record<string, WireSchema>>()

/** Reads a fixture: schemas from an SDK, with their source. They are the same objects each time. */
export function wireFixture (name: string): Record<string, WireSchema> {
  const read = fixtures.get(name) ??
    JSON.parse(readFileSync(new URL(`../../../fixtures/sdk/${name}.json`, import.meta.url), 'utf8'))
  fixtures.set(name, read)
  return read
}

const ajv = new Ajv({ strict: false, allErrors: true })
const compiled = new WeakMap<WireSchema, ValidateFunction>()

/** Why a value does not match a schema; an empty text: it does. */
export function mismatch (schema: WireSchema, value: unknown): string {
  const validate = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, validate)
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

const sizes: Record<string, [number, number]> = {
  '360p': [640, 360],
  '480p': [854, 480],
  '512p': [912, 512],
  '540p': [960, 540],
  '720p': [1280, 720],
  '768p': [1366, 768],
  '1080p': [1920, 1080],
  '1440p': [2560, 1440],
  '2k': [2560, 1440],
  '2160p': [3840, 2160],
  '4k': [3840, 2160]
}

/** Sends every wish to every model; what arrives must be what was asked for, and valid for the SDK. */
export async function checkWire (t: Test, wire: Wire): Promise<void> {
  const api = { ...wire.api, submit: { path: /./, schema: Type.Object({}) } }
  const { server, provider } = await connect(t, api)
  for (const model of wire.models) {
    for (const form of ['text', 'picture', 'frames'] as const) {
      await checkForm({ t, wire, server, provider, model, form })
    }
  }
}

interface Context {
  t: Test
  wire: Wire
  server: Awaited<ReturnType<typeof connect>>['server']
  provider: VideoProvider
  model: string
  form: Form
}

async function checkForm (context: Context): Promise<void> {
  const { t, wire: { request, fields, api }, provider, model, form } = context
  const { firstFrame = null, lastFrame = null } = framesFor({ ...api, frames: { ...api.frames, last: true } })
  const choices = provider.choices(model)
  const [width = 0, height = 0] = choices.size.split('x').map(Number)
  const usual = taskFor(api, {
    model,
    seconds: choices.seconds,
    size: { width, height },
    audio: choices.sound === 'always',
    firstFrame: form === 'text' ? null : firstFrame,
    lastFrame: form === 'frames' ? lastFrame : null,
    ...context.wire.usual?.(model)
  })
  const schema = request(model, form)
  const send = (wish: Partial<VideoTask>) => sent(context, schema, { ...usual, ...wish })
  const label = `${model}, ${form}`
  if (schema === null) {
    t.equal(await send({}), 'messages', `${label}: refused`)
    return
  }
  const plain = await send({})
  if (typeof plain === 'string') {
    t.fail(`${label}: refused because of ${plain}`)
    return
  }

  const seeded = await send({ seed: 7 })
  const hasSeed = fieldIn(schema, fields.seed) !== undefined
  t.equal(valueIn(seeded, fields.seed) ?? seeded, hasSeed ? 7 : 'seed', `${label}: seed`)

  const hasSound = fieldIn(schema, fields.sound) !== undefined
  t.equal(choices.sound === 'stated', hasSound, `${label}: sound is ${choices.sound}`)
  if (hasSound) {
    for (const audio of [true, false]) {
      const stated = valueIn(await send({ audio }), fields.sound)
      t.equal(stated === 'on' ? true : stated === 'off' ? false : stated, audio, `${label}: sound ${audio}`)
    }
  }
  await checkLengths(context, schema, send)
  await checkSizes(context, schema, usual, send)
  if (form !== 'text') {
    const silent = await send({ prompt: '' })
    const needsText = isRequired(schema, fields.text)
    t.equal(typeof silent === 'string' ? silent : 'sent', needsText ? 'messages' : 'sent', `${label}: no text`)
  }
}

type Send = (wish: Partial<VideoTask>) => Promise<Body | string>
type Body = Record<string, unknown>

async function checkLengths (
  { t, wire: { fields }, model, form }: Context, schema: WireSchema, send: Send
): Promise<void> {
  const listed = valuesOf(fieldIn(schema, fields.seconds))
  for (const seconds of listed.map(value => parseFloat(String(value))).filter(Number.isFinite)) {
    const stated = valueIn(await send({ seconds }), fields.seconds)
    t.equal(parseFloat(String(stated)), seconds, `${model}, ${form}: ${seconds} seconds`)
  }
  if (listed.some(Number.isFinite) || listed.some(value => /^\d/.test(String(value)))) {
    t.equal(await send({ seconds: 77 }), 'video.seconds', `${model}, ${form}: 77 seconds`)
  }
}

async function checkSizes (
  { t, wire: { fields }, model, form }: Context, schema: WireSchema, usual: VideoTask, send: Send
): Promise<void> {
  const label = `${model}, ${form}`
  for (const path of fields.sizes) {
    for (const value of valuesOf(fieldIn(schema, path)).map(String)) {
      const wish = wishFor(value, usual)
      if (wish === null) continue
      const stated = await send(wish)
      t.equal(String(valueIn(stated, path) ?? stated).toLowerCase(), value.toLowerCase(), `${label}: ${value}`)
    }
  }
  const odd = await send({ size: { width: 400, height: 300 }, isSizeAsked: true })
  t.equal(odd, 'video.size', `${label}: 400x300`)
}

/** What a client asks for to get a value of an enumeration; null where the model chooses. */
function wishFor (value: string, { size }: VideoTask): Partial<VideoTask> | null {
  const named = sizes[value.toLowerCase()]
  if (named !== undefined) return { size: { width: named[0], height: named[1] } }
  const [, across, down] = /^(\d+)[:x*](\d+)$/.exec(value) ?? []
  if (across === undefined || down === undefined) return null
  const [width, height] = [Number(across), Number(down)]
  if (width > 100) return { size: { width, height }, isSizeAsked: true }
  const pixels = size.width * size.height
  const even = (length: number): number => Math.round(length / 2) * 2
  const side = (ratio: number): number => even(Math.sqrt(pixels * ratio))
  return { aspectRatio: value, size: { width: side(width / height), height: side(height / width) } }
}

/** The body that arrives, which must match the schema; or the name of the wish that is refused, unsent. */
async function sent (
  { t, server, provider, model, form }: Context, schema: WireSchema | null, task: VideoTask
): Promise<Body | string> {
  const before = server.requests.length
  try {
    provider.check(task)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    t.match(error, { kind: 'bad_request', sent: 'no' })
    t.equal(server.requests.length, before)
    return error.details.param ?? 'no param'
  }
  await provider.submit(task, signal())
  const body = server.jobs.at(-1)?.body ?? {}
  if (schema !== null) {
    t.equal(mismatch(schema, body), '', `${model}, ${form}: ${JSON.stringify(body).slice(0, 400)}`)
  }
  return body
}

function fieldIn (schema: WireSchema, path: string): WireSchema | undefined {
  return path.split('.').reduce<WireSchema | undefined>((at, key) =>
    at?.type === 'array' ? at.items : at?.properties?.[key], schema)
}

function isRequired (schema: WireSchema, path: string): boolean {
  const keys = path.split('.')
  const parent = keys.length === 1 ? schema : fieldIn(schema, keys.slice(0, -1).join('.'))
  return parent?.required?.includes(keys.at(-1)) ?? false
}

/** The values that a field enumerates. */
function valuesOf (field: WireSchema | undefined): (string | number)[] {
  if (field === undefined) return []
  const alternatives: WireSchema[] = field.anyOf ?? [field]
  return alternatives.flatMap(({ enum: values = [] }) => values)
}

function valueIn (body: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => at === undefined ? at : Object(at)[key], body)
}

/** Checks what the catalogue says of models that it has. */
export function checkCatalogue (
  t: Test, provider: string, models: readonly string[], request: Wire['request'], sound: string | null
): void {
  for (const model of models) {
    const known = knownVideo(provider, model)
    if (known === undefined) continue
    const [first, last] = [request(model, 'picture'), request(model, 'frames')]
    t.equal(known.firstFrame, first !== null, `${model}: a picture`)
    t.equal(known.lastFrame, last !== null, `${model}: a last frame`)
    const schema = request(model, 'text') ?? first ?? {}
    if (sound !== null && fieldIn(schema, sound) !== undefined) t.equal(known.audio, true, `${model}: sound`)
  }
}

/** Checks that the fake server's answers match the SDK, and that each state of the SDK is understood. */
export async function checkStates (
  t: Test, api: FakeVideoApi, answer: WireSchema, states: Record<string, JobState>, statePath: string
): Promise<void> {
  const { server, provider } = await connect(t, api)
  const { handle } = await provider.submit(taskFor(api), signal())
  const [job] = server.jobs
  if (job === undefined) throw new Error('no job')
  for (const state of api.states) {
    const { body } = api.pollResponse({ ...job, state }, 'https://files.example/1.mp4')
    t.equal(mismatch(answer, body), '', `the answer about a job that is ${state}`)
  }
  const answers: WireSchema[] = answer.anyOf ?? [answer]
  const listed = new Set(answers.flatMap(one => valuesOf(fieldIn(one, statePath))))
  t.same([...listed].toSorted(), Object.keys(states).toSorted(), 'the states of the SDK')
  for (const [name, expected] of Object.entries(states)) {
    const { body } = api.pollResponse({ ...job, state: expected }, 'https://files.example/1.mp4')
    const keys = statePath.split('.')
    const last = keys.pop() ?? ''
    Object.assign(Object(keys.length === 0 ? body : valueIn(body, keys.join('.'))), { [last]: name })
    server.script('poll', reply({ body }))
    server.set(expected)
    t.match(await provider.poll(handle, signal()), { state: expected }, name)
  }
}

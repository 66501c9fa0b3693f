import { rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { build } from '../../fastify.config.ts'
import { scripted, scriptedVendors } from '../../services/config/scripted.ts'
import type { ResolvedModel } from '../../services/models/registry.ts'
import { usdText } from '../../services/shared/money.ts'
import type { ScriptStep } from '../../schemas/config/script.ts'
import { createFirstKey, toBuildOptions } from '../gateway.ts'
import { injectFetch } from './inject-fetch.ts'
import type { GatewayFile } from '../gateway-file.ts'
import type { Step } from './steps.ts'
import type { ScriptedRequest, TestGateway, TestGatewayOptions } from './types.ts'

/** Until a test says what the models do. */
const unscripted = { models: {} }
const url = 'http://tollgate.test'

/** Starts a gateway that calls no server. */
export async function startTestGateway (
  { config = usual, plugins, env = {}, credit = 10 }: TestGatewayOptions
): Promise<TestGateway> {
  const media = join(tmpdir(), `tollgate-test-${randomUUID()}`)
  const options = await toBuildOptions({
    config,
    plugins,
    database: 'sqlite::memory:',
    media,
    env: { ...scriptedVendors, ...settings, ...env, TOLLGATE_STARTING_CREDIT: String(credit) }
  })
  const reload = async () => scripted(await options.reload(), unscripted)
  const app = await build({ ...options, config: scripted(options.config, unscripted), reload })
  let key = ''
  await createFirstKey(app, options.settings, { onFirstKey: first => { key = first } })
  return new RunningGateway(app, key, media)
}

/** The sandbox, which needs no script, and a video model: no vendor's has a price in the catalogue. */
const usual: GatewayFile = {
  providers: [{ id: 'sandbox', protocol: 'sandbox' }, { id: 'films', protocol: 'sandbox' }],
  models: [{
    id: 'sora-2',
    kind: 'video',
    deployments: [{ provider: 'films', model: 'sora-2' }],
    price: { second: 0.1 },
    video: { seconds: [4, 8, 12], sizes: ['720x1280', '1280x720'] }
  }]
}

/** A blocked event loop of a test is no overload, and no test waits for the drain. */
const settings = { TOLLGATE_MAX_LAG_MS: '60000', TOLLGATE_DRAIN_SECONDS: '1' }

class RunningGateway implements TestGateway {
  readonly url = url
  #requests = 0
  readonly #queues = new Map<string, ScriptStep[]>()
  readonly app: FastifyInstance
  readonly key: string
  readonly #media: string

  constructor (app: FastifyInstance, key: string, media: string) {
    this.app = app
    this.key = key
    this.#media = media
  }

  model (name: string) {
    const found = this.app.models.resolve(this.app.models.targetOf(name))
    if (found === undefined) throw new Error(`The gateway has no model '${name}'. Add it to \`config\`.`)
    return { script: (steps: readonly Step[]) => { this.#queueOf(found).push(...toData(steps)) } }
  }

  client () {
    const newId = () => `req_${++this.#requests}`
    return { baseURL: `${url}/v1`, apiKey: this.key, fetch: injectFetch(this.app, newId) }
  }

  async inject (given: InjectOptions | string) {
    const options = typeof given === 'string' ? { url: given } : given
    return await this.app.inject({ ...options, headers: { authorization: `Bearer ${this.key}`, ...options.headers } })
  }

  get requests (): ScriptedRequest[] {
    return this.#scripts()
      .flatMap(({ provider, script }) => script.calls.map(call => ({ ...call, provider })))
      .sort((one, other) => one.atMs - other.atMs)
      .map(({ kind, provider, model, body }) => ({ kind, provider, model, body: Object(body) }))
  }

  async spent (): Promise<string> {
    await this.app.ledger.flush()
    const { spentNano } = await this.app.accounts.balance('default')
    return usdText(spentNano)
  }

  async close (): Promise<void> {
    const scripts = this.#scripts()
    await this.app.close()
    await rm(this.#media, { recursive: true, force: true })
    const missing = scripts.flatMap(({ script }) => script.unscripted)
    if (missing.length > 0) throw new Error(`Calls without a step in the script: ${missing.join(', ')}`)
  }

  async [Symbol.asyncDispose] (): Promise<void> {
    await this.close()
  }

  #scripts () {
    return this.app.models.config().providers.flatMap(({ id }) => {
      const { script } = this.app.providers.get(id) ?? {}
      return script === undefined ? [] : [{ provider: id, script }]
    })
  }

  /** The deployments of a model share a queue. */
  #queueOf ({ model: { id }, deployments }: ResolvedModel): ScriptStep[] {
    const queue = this.#queues.get(id) ?? []
    this.#queues.set(id, queue)
    for (const { provider, model } of deployments) {
      const { script } = this.app.providers.get(provider) ?? {}
      if (script === undefined) throw new Error(`The provider '${provider}' is the sandbox, which plays no script.`)
      script.play(model, queue)
    }
    return queue
  }
}

/** Merges `video.queued` with the step that follows. */
function toData (steps: readonly Step[]): ScriptStep[] {
  const merged: ScriptStep[] = []
  let queued = 0
  for (const { data } of steps) {
    const isQueue = data.video?.queued !== undefined && data.video.failed === undefined
    if (isQueue) queued += data.video?.queued ?? 0
    else merged.push(queued === 0 ? data : { ...data, video: { ...data.video, queued } })
    if (!isQueue) queued = 0
  }
  if (queued > 0) merged.push({ video: { queued } })
  return merged
}

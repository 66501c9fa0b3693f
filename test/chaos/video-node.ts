import pino from 'pino'
import { build } from '../../fastify.config.ts'
import { newProvider } from '../../services/config/new-provider.ts'
import { readSettings } from '../../services/config/settings/settings.ts'
import { blockDefaults, videoDefaults } from '../../services/config/defaults.ts'
import { modelFromCatalogue } from '../../services/config/catalogue/models.ts'
import { bootstrap } from '../../services/keys/bootstrap.ts'

/**
 * A gateway with scaled-down times, for `videos.ts`: it sends the address it listens on. After the message
 * `arm` it blocks for ever just before it settles its next video, and sends `settling`.
 */

const [, , providerUrl = '', takeover = ''] = process.argv
const provider = newProvider({ id: 'kling', protocol: 'kling', baseUrl: providerUrl, apiKey: 'kling-key' })
const tokens = { inputPico: null, outputPico: null, cacheReadPico: null, cacheWritePico: null }
const price = { ...tokens, imageNano: null, secondNano: 1_000_000 }
const model = { ...modelFromCatalogue('kling', 'film'), id: 'film', kind: 'video' as const, price }

const settings = readSettings(process.env, '/nonexistent')
const app = await build({
  settings,
  config: {
    providers: [provider],
    models: [model],
    policies: [],
    ...blockDefaults,
    video: {
      ...videoDefaults, takeoverAfterMs: Number(takeover), heartbeatAfterMs: 400, heartbeatEveryMs: 300
    }
  },
  logger: pino({ level: process.env.LOG_LEVEL ?? 'fatal' }, pino.destination(2)),
  videoTiming: { doubtMs: 50, backoffMs: 20, maxBackoffMs: 200, watchMs: 50, webhookMs: 50 }
})
await app.ready()
Object.assign(app.providers.get('kling')?.videos?.polling ?? {}, { minMs: 40, maxMs: 80 })

let armed = false
const read = app.media.read.bind(app.media)
app.media.read = async (media, range) => {
  if (!armed) return await read(media, range)
  // A finished copy is read for its length, right before the settlement.
  process.send?.({ event: 'settling' })
  return await new Promise(() => {})
}
process.on('message', message => { armed = message === 'arm' })
process.on('disconnect', () => process.exit())

const address = await app.listen({ host: '127.0.0.1', port: 0 })
const { store, keys, accounts } = app
const first = await bootstrap({ store, keys, accounts, startingCreditNano: settings.startingCreditNano })
process.send?.({ event: 'listening', url: `${address}/v1`, key: first?.key ?? null })

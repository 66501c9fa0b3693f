import t, { type Test } from 'tap'
import type { ProviderConfig } from '../../../../services/catalogue/types.ts'
import { configFromEnvironment } from '../../../../services/config/environment/environment.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { Deadlines } from '../../../../services/shared/deadline-timer.ts'
import { createProvider, createProviders } from '../../../../services/providers/registry.ts'
import { startVideoServer } from '../../../servers/videos/server.ts'
import type { Wire } from '../../../servers/videos/wire.ts'
import { wires } from '../../../servers/videos/wires.ts'
import { bytesOf, signal, taskFor } from './helper.ts'

/** Makes a video at a provider that was configured so, and closes it. */
async function makeVideo (t: Test, wire: Wire, configured: (origin: string) => ProviderConfig) {
  const server = await startVideoServer(wire)
  t.teardown(() => server.close())
  const config = configured(new URL(server.url).origin)
  const errors: unknown[] = []
  const providers = createProviders(new Deadlines(), error => errors.push(error))
  providers.apply([config])
  const { videos } = providers.get(config.id) ?? {}
  if (videos === undefined) return t.fail('it makes no videos')
  const { handle } = await videos.submit(taskFor(wire), signal())
  server.set('succeeded')
  const ended = await videos.poll(handle, signal())
  if (ended.state !== 'succeeded') return t.fail(ended.state)
  t.ok(server.video.equals(await bytesOf(ended.videos[0])))
  await providers.close()
  t.same(server.faults, [])
  t.same(errors, [])
}

const dialects: Record<string, { dialect: string, path: string }> = {
  openai: { dialect: 'compatible', path: '/v1' },
  together: { dialect: 'together', path: '/v1' },
  openrouter: { dialect: 'openrouter', path: '/api/v1' },
  xai: { dialect: 'xai', path: '/v1' },
  veo: { dialect: 'gemini', path: '/v1beta/openai' }
}

for (const wire of wires) {
  const { form, base, apiKey } = wire
  const spoken = dialects[form]
  if (spoken !== undefined) {
    t.test(`${spoken.dialect}: chats and makes videos, each where it belongs`, async t => {
      const { dialect, path } = spoken
      await makeVideo(t, wire, origin => newProvider({ id: 'it', dialect, baseUrl: origin + path, apiKey }))
      const config = newProvider({ id: 'it', dialect, baseUrl: `http://127.0.0.1:1${path}`, apiKey })
      const provider = createProvider(config, new Deadlines())
      t.ok(provider.chat && provider.models)
      await provider.close()
    })
  }
  if (spoken === undefined || form === 'veo') {
    t.test(`${form}: a protocol of the file`, async t => {
      await makeVideo(t, wire, origin => {
        const file = `environment_providers: false
providers: [{ id: it, protocol: ${form}, base_url: "${origin}${base}", api_key: "${apiKey}" }]`
        const [config] = parseConfig(file, {}).providers
        if (config === undefined) throw new Error('It is not there.')
        return config
      })
    })
  }
}

t.test('a protocol knows where its API is', async t => {
  const file = 'environment_providers: false\nproviders: [{ id: mine, protocol: runway, api_key: x }]'
  t.match(parseConfig(file, {}).providers, [{ id: 'mine', baseUrl: 'https://api.dev.runwayml.com/v1' }])
})

t.test('a key in the environment is enough', async t => {
  const { providers } = configFromEnvironment({ RUNWAYML_API_SECRET: 'x', GEMINI_API_KEY: 'y', GROQ_API_KEY: 'z' })
  const connected = createProviders(new Deadlines(), () => {})
  connected.apply(providers)
  t.ok(connected.get('runway')?.videos && connected.get('gemini')?.videos)
  t.equal(connected.get('groq')?.videos, undefined)
  await connected.close()
})

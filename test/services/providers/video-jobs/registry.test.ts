import t, { type Test } from 'tap'
import type { ProviderConfig } from '../../../../services/config/catalogue/types.ts'
import { configFromEnvironment } from '../../../../services/config/environment/environment.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { createProvider, createProviders } from '../../../../services/providers/registry.ts'
import { startVideoServer } from '../../../servers/videos/server.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import { fakeVideoApis } from '../../../servers/videos/fake-apis.ts'
import { bytesOf, credentialsFor, nameOf, signal, taskFor } from './helper.ts'

/** Generates a video at a provider with this configuration, and closes it. */
async function generateVideo (t: Test, api: FakeVideoApi, configured: (origin: string) => ProviderConfig) {
  const server = await startVideoServer(api)
  t.teardown(() => server.close())
  const config = configured(new URL(server.url).origin)
  const errors: unknown[] = []
  const providers = createProviders(new Deadlines(), error => errors.push(error))
  providers.apply([config])
  const { videos } = providers.get(config.id) ?? {}
  if (videos === undefined) return t.fail('no video API')
  const { handle } = await videos.submit(taskFor(api), signal())
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

for (const api of fakeVideoApis) {
  const { protocol, base, apiKey } = api
  const spoken = dialects[protocol]
  if (spoken !== undefined) {
    t.test(`${spoken.dialect}: offers chat and videos at their own base URLs`, async t => {
      const { dialect, path } = spoken
      await generateVideo(t, api, origin => newProvider({ id: 'it', dialect, baseUrl: origin + path, apiKey }))
      const config = newProvider({ id: 'it', dialect, baseUrl: `http://127.0.0.1:1${path}`, apiKey })
      const provider = createProvider(config, new Deadlines())
      t.ok(provider.chat && provider.models)
      await provider.close()
    })
  }
  if (spoken === undefined || protocol === 'veo') {
    t.test(`${nameOf(api)}: is configured in the file`, async t => {
      await generateVideo(t, api, origin => {
        const credentials = protocol === 'vertex'
          ? `project: acme-prod, region: us-central1, credentials: '${credentialsFor(apiKey)}'`
          : `api_key: "${apiKey}"`
        const file = `environment_providers: false
providers: [{ id: it, protocol: ${protocol}, base_url: "${origin}${base}", ${credentials} }]`
        const [config] = parseConfig(file, {}).providers
        if (config === undefined) throw new Error('no provider')
        return config
      })
    })
  }
}

t.test('knows the default base URL of a protocol', async t => {
  const file = 'environment_providers: false\nproviders: [{ id: mine, protocol: runway, api_key: x }]'
  t.match(parseConfig(file, {}).providers, [{ id: 'mine', baseUrl: 'https://api.dev.runwayml.com/v1' }])
})

t.test('configures a video provider from a key in the environment', async t => {
  const { providers } = configFromEnvironment({ RUNWAYML_API_SECRET: 'x', GEMINI_API_KEY: 'y', GROQ_API_KEY: 'z' })
  const connected = createProviders(new Deadlines(), () => {})
  connected.apply(providers)
  t.ok(connected.get('runway')?.videos && connected.get('gemini')?.videos)
  t.equal(connected.get('groq')?.videos, undefined)
  await connected.close()
})

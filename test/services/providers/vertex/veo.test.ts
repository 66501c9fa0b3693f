import t from 'tap'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { createProvider } from '../../../../services/providers/registry.ts'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { reply, startVideoServer } from '../../../servers/videos/server.ts'
import { vertex } from '../../../servers/videos/vertex.ts'
import { connect, credentialsFor, signal, taskFor } from '../video-jobs/helper.ts'

t.test('Vertex: videos are written into the bucket of the configuration', async t => {
  const server = await startVideoServer(vertex)
  const config = newProvider({
    id: 'it',
    protocol: 'vertex',
    baseUrl: server.url,
    project: 'acme-prod',
    region: 'us-central1',
    bucket: 'gs://acme-videos/a folder',
    credentials: credentialsFor(vertex.apiKey)
  })
  const provider = createProvider(config, new Deadlines())
  t.teardown(async () => { await provider.close(); await server.close() })
  await provider.videos?.submit(taskFor(vertex), signal())
  t.match(server.jobs[0]?.body, { parameters: { storageUri: 'gs://acme-videos/a folder', generateAudio: true } })
  t.same(server.faults, [])
})

t.test('Vertex: a video that is part of the response', async t => {
  const { server, provider } = await connect(t, vertex)
  const { handle } = await provider.submit(taskFor(vertex), signal())
  // Longer than other responses may be.
  const bytes = Buffer.alloc(5_000_000, 'video')
  server.script('poll', reply({
    body: { done: true, response: { videos: [{ bytesBase64Encoded: bytes.toString('base64'), mimeType: 'video/mp4' }] } }
  }))
  const ended = await provider.poll(handle, signal())
  const [file] = ended.state === 'succeeded' ? ended.videos : []
  if (file === undefined || !('bytes' in file)) return t.fail('no bytes')
  t.ok(bytes.equals(file.bytes))
  server.script('poll', reply({ body: { done: true, response: { videos: [{ mimeType: 'video/mp4' }, { gcsUri: 's3://other/x' }] } } }))
  t.match(await provider.poll(handle, signal()), { state: 'failed' }, 'an address of another service')
})

t.test('Vertex: Veo 2 has other lengths, and no sound', async t => {
  const { provider } = await connect(t, vertex)
  t.match(provider.choices('veo-2.0-generate-001'), { sound: 'never' })
  provider.check(taskFor(vertex, { model: 'veo-2.0-generate-001', seconds: 5 }))
  for (const [model, seconds] of [['veo-2.0-generate-001', 4], [vertex.model, 5]] as const) {
    t.match(thrown(() => provider.check(taskFor(vertex, { model, seconds }))), { details: { param: 'video.seconds' } })
  }
})

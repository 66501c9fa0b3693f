import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, strict, text, type FakeVideoApi } from './fake-api.ts'
import { veo } from './veo.ts'

const model = 'veo-3.1-generate-001'
const models = '/v1beta1/projects/acme-prod/locations/us-central1/publishers/google/models'
const nameOf = (id: string): string =>
  `projects/acme-prod/locations/us-central1/publishers/google/models/${model}/operations/${id}`
const { instances, parameters } = veo.submit.schema.properties
if (instances === undefined || parameters === undefined) throw new Error('Veo has neither')

/**
 * Veo on Vertex AI: npm @google/genai 3.1.0, generateVideosParametersToVertex and
 * generateVideosOperationFromVertex. The file is in a bucket.
 */
export const vertex: FakeVideoApi = {
  ...veo,
  protocol: 'vertex',
  base: '',
  apiKey: 'ya29.c.secret-of-the-token',
  model,
  isAuthorized: bearerIs('ya29.c.secret-of-the-token'),
  submit: {
    path: new RegExp(`^${models}/${model}:predictLongRunning$`),
    schema: strict({
      instances,
      parameters: strict({
        sampleCount: Type.Literal(1),
        aspectRatio: optional(oneOf('16:9', '9:16')),
        resolution: optional(oneOf('720p', '1080p', '4k')),
        durationSeconds: optional(integer()),
        generateAudio: Type.Boolean(),
        seed: optional(integer()),
        storageUri: optional(text())
      })
    })
  },
  submitResponse: ({ id }) => ({ body: { name: nameOf(id) } }),
  poll: new RegExp(`^${models}/${model}:fetchPredictOperation{"operationName":"${nameOf('([^/"]+)')}"}$`),
  polledBy: 'POST',
  pollResponse: ({ id, state }) => ({
    body: {
      name: nameOf(id),
      ...(state !== 'running' && { done: true }),
      ...(state === 'failed' && { error: { code: 13, message: 'It broke.' } }),
      ...(state === 'moderated' && {
        response: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['It shows a celebrity.'] }
      }),
      ...(state === 'succeeded' && {
        response: { videos: [{ gcsUri: `gs://acme-videos/a folder/${id}.mp4`, mimeType: 'video/mp4' }] }
      })
    }
  }),
  movedTo: undefined,
  origin: undefined,
  content: /^\/storage\/v1\/b\/acme-videos\/o\/a%20folder%2F([^/]+)\.mp4\?alt=media$/,
  priced: { seconds: 'parameters.durationSeconds', resolution: 'parameters.resolution', audio: 'parameters.generateAudio' }
}

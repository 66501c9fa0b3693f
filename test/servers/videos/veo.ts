import { Type } from '@sinclair/typebox'
import { base64, integer, oneOf, optional, strict, text, type FakeVideoApi } from './fake-api.ts'

const model = 'veo-3.1-generate-preview'
const image = () => strict({ bytesBase64Encoded: base64(), mimeType: oneOf('image/png', 'image/jpeg', 'image/webp') })
const statuses = {
  invalid: [400, 'INVALID_ARGUMENT'],
  moderated: [400, 'INVALID_ARGUMENT'],
  auth: [403, 'PERMISSION_DENIED'],
  quota: [402, 'FAILED_PRECONDITION'],
  rate: [429, 'RESOURCE_EXHAUSTED'],
  unknown: [404, 'NOT_FOUND']
} as const

/**
 * Veo in the Gemini API: npm @ai-sdk/google 4.0.121. The file is named at Google's own host, needs the key,
 * and is redirected within that host.
 */
export const veo: FakeVideoApi = {
  protocol: 'veo',
  base: '/v1beta',
  apiKey: 'AIza-secret',
  model,
  isAuthorized: headers => headers['x-goog-api-key'] === 'AIza-secret',
  submit: {
    path: new RegExp(`^/models/${model}:predictLongRunning$`),
    schema: strict({
      instances: Type.Tuple([
        strict({ prompt: optional(text()), image: optional(image()), lastFrame: optional(image()) })
      ]),
      parameters: strict({
        sampleCount: Type.Literal(1),
        aspectRatio: optional(oneOf('16:9', '9:16')),
        resolution: optional(oneOf('720p', '1080p', '4k')),
        durationSeconds: optional(integer()),
        seed: optional(integer())
      })
    })
  },
  submitResponse: ({ id }) => ({ body: { name: `models/${model}/operations/${id}` } }),
  poll: new RegExp(`^/models/${model}/operations/([^/]+)$`),
  pollResponse: ({ id, state }) => ({
    body: {
      name: `models/${model}/operations/${id}`,
      ...(state !== 'running' && { done: true }),
      ...(state === 'failed' && { error: { code: 13, status: 'INTERNAL', message: 'It broke.' } }),
      ...(state === 'moderated' && {
        response: {
          generateVideoResponse: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['It shows a celebrity.'] }
        }
      }),
      ...(state === 'succeeded' && {
        response: {
          generateVideoResponse: {
            generatedSamples: [{
              video: { uri: `https://generativelanguage.googleapis.com/v1beta/files/${id}:download?alt=media` }
            }]
          }
        }
      })
    }
  }),
  movedTo: '/download',
  origin: 'https://generativelanguage.googleapis.com',
  content: /^\/files\/([^/]+):download\?alt=media$/,
  errorResponse (why, message) {
    const [code, status] = statuses[why]
    const said = why === 'moderated' ? `The prompt contains sensitive words: ${message}` : message
    return { status: code, body: { error: { code, message: said, status } } }
  },
  priced: { seconds: 'parameters.durationSeconds', resolution: 'parameters.resolution', audio: true },
  states: ['running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'bytes', last: true },
  expected: { seconds: null, costNano: null, progress: null }
}

import { withoutNulls } from '../video-jobs/fields.ts'
import type { JsonObject } from '../../shared/json.ts'

/** Path and body that create a prediction; a model is `<owner>/<name>` or `<owner>/<name>:<version>`. */
export function predictionRequest (model: string, input: JsonObject): { path: string, body: JsonObject } {
  const [name = '', version] = model.split(':')
  const modelPath = name.split('/').map(encodeURIComponent).join('/')
  const path = version === undefined ? `/models/${modelPath}/predictions` : '/predictions'
  return { path, body: withoutNulls({ version, input }) }
}

import t from 'tap'
import { knownVideoModelNames } from '../../../services/config/catalogue/videos.ts'
import { runway } from '../../servers/videos/runway.ts'
import { checkCatalogue, checkStates, checkWire, wireFixture, type Form, type WireSchema } from './video-jobs/wire.ts'

const { text_to_video: texts = {}, image_to_video: pictures = {}, task = {} } = wireFixture('runway')

const nameOf = (schema: WireSchema): string => schema.properties.model.enum[0]
const models = [...new Set([...texts.anyOf, ...pictures.anyOf].map(nameOf))]

function request (model: string, form: Form): WireSchema | null {
  const schema = (form === 'text' ? texts : pictures).anyOf.find((one: WireSchema) => nameOf(one) === model)
  if (schema === undefined) return null
  // Absent where the declaration says `unknown`; its comment says `first` and `last`.
  const position = schema.properties.promptImage?.anyOf[1].items.properties?.position
  if (form === 'frames' && position?.enum.includes('last') === false) return null
  return model.startsWith('wan') && form !== 'text' ? withAutoSizes(schema) : schema
}

const kept = new Map<WireSchema, WireSchema>()

/** A comment of the SDK: with keyframes the ratio must be one of the `auto_` ones. */
function withAutoSizes (schema: WireSchema): WireSchema {
  const { properties: { ratio } } = schema
  const sizes = ratio.enum.filter((size: string) => size.startsWith('auto_'))
  const properties = { ...schema.properties, ratio: { enum: sizes } }
  const strict = kept.get(schema) ?? { ...schema, properties }
  kept.set(schema, strict)
  return strict
}

t.test('Runway: every wish for every model', async t => {
  await checkWire(t, {
    api: runway,
    models,
    request,
    fields: { seconds: 'duration', seed: 'seed', sound: 'audio', sizes: ['ratio', 'resolution'], text: 'promptText' }
  })
})

t.test('Runway: every state', async t => {
  await checkStates(t, runway, task, {
    PENDING: 'queued',
    THROTTLED: 'queued',
    RUNNING: 'running',
    SUCCEEDED: 'succeeded',
    FAILED: 'failed',
    CANCELLED: 'cancelled'
  }, 'status')
})

t.test('Runway: the catalogue has the models of the SDK, and what they take', async t => {
  t.same(knownVideoModelNames('runway').toSorted(), models.toSorted())
  checkCatalogue(t, 'runway', models, request, 'audio')
})

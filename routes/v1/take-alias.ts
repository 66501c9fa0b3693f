import type { FastifyRequest, preHandlerHookHandler } from 'fastify'
import { isObject, isText, JsonText, type JsonObject } from '../../services/shared/json.ts'

/**
 * Replaces an alias by the model that it stands for, in the body and its text. The client knows the greatest
 * length of another model's responses, so a greater one than that of the target becomes that.
 */
export const takeAlias: preHandlerHookHandler = (request, _reply, done) => {
  const { body, server: { models } } = request
  if (isObject(body) && isText(body.model)) {
    const model = models.targetOf(body.model)
    if (model !== body.model) {
      Object.assign(body, { model, ...limitsWithin(body, maxOutputOf(model, request)) })
      request.jsonText = JsonText.from(body)
    }
  }
  done()
}

const lengthFields = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const

function limitsWithin (body: JsonObject, most: number): Partial<Record<typeof lengthFields[number], number>> {
  return Object.fromEntries(lengthFields.filter(name => Number(body[name]) > most).map(name => [name, most]))
}

/** The longest response of a model, or of the models that a policy chooses from; Infinity if unknown. */
function maxOutputOf (id: string, { apiKey, server: { modelLists } }: FastifyRequest): number {
  const listed = modelLists.of(apiKey).list.data.find(model => model.id === id)
  return listed?.max_output_tokens ?? Infinity
}

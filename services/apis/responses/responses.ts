import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type {
  InputTokensRequest, ResponseObject, ResponseRequest
} from '../../../schemas/openai/responses.ts'
import { estimatePrompt } from '../../billing/estimate-usage.ts'
import type { ClientApi } from '../../chat/client-api.ts'
import type { Chat } from '../../chat/types.ts'
import { isPolicy } from '../../requests/candidates.ts'
import type { Exchange } from '../../requests/exchange.ts'
import { toGatewayError } from '../../http/to-gateway-error.ts'
import { GatewayError } from '../../shared/errors.ts'
import { JsonText } from '../../shared/json.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { translatedForm, withVideoForm } from '../translated.ts'
import { withResponseParam } from './chat-params.ts'
import { newItemId } from './open-items.ts'
import { createProvidersWithoutApi, nativeResponses } from './native.ts'
import { nativeForm } from './native-response.ts'
import { checkResponseRequest, nativeFeatureOf, needsNative } from './response-checks.ts'
import { responseTranslator } from './response-form.ts'
import { keptItems, readTurn } from './response-input.ts'
import type { StoredResponses } from './stored-responses.ts'
import { toChatRequest } from './to-chat.ts'
import { toolNames } from './tool-names.ts'
import { foundTools } from './tool-search.ts'

export interface Responses {
  /**
   * Serves `POST /v1/responses` as a chat, or by `serveVideo` if its model makes videos; throws like that,
   * and GatewayError 400 for what cannot be honoured.
   */
  create (exchange: Exchange<ResponseRequest>, serveVideo: ServeVideo | null): Promise<void>
  /**
   * Estimates the tokens of an input, with earlier turns. Throws GatewayError 400 for what cannot be read,
   * 404 for a model that the key may not use.
   */
  countInput (request: InputTokensRequest, key: CountingKey): Promise<number>
  /** A stored response of an account. Throws GatewayError 404. */
  get (account: string, id: string): Promise<ResponseObject>
  /** The items of its request. Throws GatewayError 404. */
  input (account: string, id: string): Promise<ResponseInputItem[]>
  /** Throws GatewayError 404. */
  delete (account: string, id: string): Promise<void>
}

interface CountingKey { readonly account: string, mayUse (model: string): boolean }

type ServeVideo = (exchange: Exchange<ChatCompletionRequest>) => Promise<void>

interface ResponsesOptions {
  chat: Pick<Chat, 'complete'>
  /** The id of a model on offer; undefined: there is none of this name. */
  modelIdOf: (name: string) => string | undefined
  stored: StoredResponses
  /** Whether responses are stored at all. */
  stores: boolean
  /** In milliseconds since 1970. */
  clock: () => number
  onError: (error: unknown) => void
}

/**
 * Creates the API: a request becomes one of chat, and its completion a response, unless the provider has this
 * API itself.
 */
export function createResponses (options: ResponsesOptions): Responses {
  const { chat, stored, stores, clock, onError, modelIdOf } = options
  const withoutApi = createProvidersWithoutApi(clock)
  return {
    async create (exchange, serveVideo) {
      const { body, payer: { chain: [account = ''] } } = exchange
      checkResponseRequest(body)
      if (body.store === true && !stores) throw GatewayError.unsupportedParameter('store', 'This gateway does not store responses.')
      const turn = await readTurn(body, account, stores ? stored : null)
      const { items, own, historyBytes } = turn
      const feature = serveVideo === null ? null : nativeFeatureOf(body, items)
      if (feature !== null) throw needsNative(feature, body.model)
      const completion = toChatRequest(body, items)
      const isStored = stores && body.store !== false
      const head = { id: newItemId('resp'), createdAt: Math.floor(clock() / 1000), request: body, isStored }

      /** Keeps the response; an answer is not lost because it cannot be kept. */
      async function keep (response: ResponseObject): Promise<boolean> {
        if (!isStored) return false
        const previous = body.previous_response_id ?? null
        try {
          return await stored.keep({ account, response, input: keptItems(own), previous, historyBytes })
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error
          onError(error)
          return false
        }
      }

      const { record, rawBody } = exchange
      const tools = [...body.tools ?? [], ...foundTools(items).map(({ tool }) => tool)]
      const translator = responseTranslator(head, toolNames(tools), keep)
      const api: ClientApi<ChatCompletionRequest> = {
        name: 'responses',
        form: translatedForm(translator),
        native: nativeForm({ head, keep, record }),
        ...nativeResponses({ request: body, original: rawBody, turn, isStored, withoutApi })
      }
      const chatRequest = { ...exchange, body: completion, rawBody: JsonText.from(completion) }
      try {
        if (serveVideo === null) await chat.complete(chatRequest, api)
        else await serveVideo(withVideoForm(chatRequest, translator))
      } catch (error) {
        const gatewayError = toGatewayError(error)
        const renamed = withResponseParam(gatewayError)
        throw renamed === gatewayError ? error : renamed
      }
    },
    async countInput (counted, { account, mayUse }) {
      const { model } = counted
      const id = model == null || isPolicy(model) ? null : modelIdOf(model)
      if (id !== null && (id === undefined || !mayUse(id))) throw GatewayError.modelNotFound(model ?? '')
      const request = { ...counted, model: model ?? '', input: counted.input ?? [] }
      checkResponseRequest(request)
      const { items } = await readTurn(request, account, stores ? stored : null)
      return await estimatePrompt(toChatRequest(request, items))
    },
    get: (account, id) => stored.get(account, id),
    input: (account, id) => stored.input(account, id),
    delete: (account, id) => stored.delete(account, id)
  }
}

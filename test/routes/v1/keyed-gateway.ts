import type { Test } from 'tap'
import { request } from 'undici'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import type { ModelConfig, Price } from '../../../services/config/catalogue/types.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { startGateway } from '../../helpers/gateway.ts'

interface Origin { url: string, apiKey: string, variables: string }

/** A gateway with one provider from its environment variables, and one of its models at a price. */
export async function gatewayAt (
  t: Test, { url, apiKey, variables }: Origin, model: ModelConfig, price: Partial<Price> | null
) {
  const found = configFromEnvironment({ [`${variables}_API_KEY`]: apiKey, [`${variables}_BASE_URL`]: url })
  const models = [{ ...model, price: price && { ...emptyPrice, ...price } }]
  const gateway = await startGateway(t, { config: { ...found, models } })
  async function post (path: string, body: object) {
    const response = await request(`${gateway.url}${path}`, {
      method: 'POST', headers: gateway.headers, body: JSON.stringify(body)
    })
    return { status: response.statusCode, body: Object(await response.body.json()) }
  }
  return { gateway, post }
}

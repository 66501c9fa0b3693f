import { exactUsd } from '../reports/exact-json.ts'
import type { ExactNumber } from '../../../schemas/shared/combinators.ts'
import { GatewayError } from '../../shared/errors.ts'
import { assertSafe, nanoFromUsd, usdText } from '../../shared/money.ts'

/** An amount in a request: exactly one of the two fields. */
export interface AmountInput { amount_usd?: number | string | undefined, amount_nano?: number | undefined }

/** Returns integer nano-USD; undefined without an amount. Throws GatewayError 400, which names the field. */
export function nanoOf ({ amount_usd: usd, amount_nano: nano }: AmountInput): number | undefined {
  if (usd !== undefined && nano !== undefined) {
    throw GatewayError.invalidRequest('Give either \'amount_usd\' or \'amount_nano\', not both.', { param: 'amount_nano' })
  }
  if (usd !== undefined) return withinRange('amount_usd', () => nanoFromUsd(exactly(usd)))
  return nano === undefined ? undefined : withinRange('amount_nano', () => assertSafe(nano))
}

/** From here on, JavaScript numbers are further apart than a nano-dollar. */
const coarseUsd = 2 ** 23

/** Throws RangeError for a number that may have been rounded. */
function exactly (usd: number | string): number | string {
  if (typeof usd === 'string' || Number.isInteger(usd) || Math.abs(usd) < coarseUsd) return usd
  throw new RangeError(`expected text for an amount above $${coarseUsd} with decimals, such as "9007199.254740991"`)
}

/** The same for a required amount. */
export function requiredNanoOf (given: AmountInput): number {
  const nano = nanoOf(given)
  if (nano !== undefined) return nano
  throw GatewayError.invalidRequest('Missing required parameter: \'amount_usd\'.',
    { param: 'amount_usd', code: 'missing_required_parameter' })
}

/** Returns the result of `work`; its RangeError becomes a GatewayError 400 for the field `param`. */
export function withinRange<T> (param: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw outOfRange(param, error)
  }
}

/** Converts a RangeError to a GatewayError 400 for the field `param`; returns other errors unchanged. */
export function outOfRange (param: string, error: unknown): unknown {
  return error instanceof RangeError ? GatewayError.invalidValue(param, error.message, error) : error
}

/** Returns an amount in both units, e.g. `spent_usd` and `spent_nano`; JSON prints both exactly. */
export function amountFields<const Name extends string> (name: Name, nano: number): Amounts<Name> {
  // TypeScript widens computed keys to string.
  return { [`${name}_usd`]: exactUsd(nano), [`${name}_nano`]: nano } as Amounts<Name>
}

type Amounts<Name extends string> = Record<`${Name}_usd`, ExactNumber> & Record<`${Name}_nano`, number>

/** Formats integer nano-USD as US dollars without rounding, with 2 to 9 decimals, e.g. `12.00`. */
export function amountText (nano: number): string {
  const [whole = '', fraction = ''] = usdText(nano).split('.')
  return `${whole}.${fraction.padEnd(2, '0')}`
}

import { setTimeout as sleep } from 'node:timers/promises'
import { toGatewayError } from '../http/to-gateway-error.ts'
import { GatewayError } from '../shared/errors.ts'
import { mediaOf, type Made } from './generation.ts'
import type { GenerationRows } from './generation-rows.ts'
import type { StoreWrites } from './store-writes.ts'

interface BegunGenerationContext {
  rows: GenerationRows
  writes: StoreWrites
  clock: () => number
  /** Whether this node is about to end. */
  isDraining: () => boolean
}

/** How long the images of a generation are kept for a repeated request, in ms. */
export const keepMs = 24 * 3_600_000
/** How long the error of a client waits until it is recorded, while the database is away. */
const maxFailMs = 500

/**
 * A generation that this node makes for the request that began it. It is lost with this node.
 *
 *     making ── record ──▶ recorded ── settle ──▶ charging ── on disk ──▶ succeeded
 *        │                    │                      └── another node ended it ──▶ lost
 *        └─────── fail ───────┴──▶ failed
 *
 * `record` stores what was made, `settle` waits until its charge is on disk: a node that dies in between
 * gives nothing away. From `settle` on only the charge decides: if the request that began it fails then, the
 * other clients still get the images.
 */
export class BegunGeneration {
  readonly id: string
  /** The result for the other clients that wait on this node. */
  readonly outcome: Promise<Made>
  readonly #context: BegunGenerationContext
  readonly #ended = Promise.withResolvers<Made>()
  #made: Made | null = null
  #isCharging = false

  constructor (id: string, context: BegunGenerationContext) {
    this.id = id
    this.#context = context
    this.outcome = this.#ended.promise
    // Often no other client waits for it.
    this.outcome.catch(() => {})
  }

  /** Records what was made, before its charge. Throws GatewayError 503 if another node has ended it. */
  async record (made: Made): Promise<void> {
    const { rows, writes } = this.#context
    this.#made = made
    if (!await writes.insist(() => rows.record(this.id, made))) throw generationLost()
  }

  /**
   * Ends it as a success once `written` resolves, when the charge is on disk. Throws as `record`, if another
   * node has ended it before the charge.
   */
  async settle (written: Promise<void>): Promise<void> {
    this.#isCharging = true
    const kept = this.#keepOnce(written)
    kept.then(isKept => this.#end(isKept), this.#ended.reject)
    await written
    if (!await kept) throw generationLost()
  }

  /** Ends it as failed, unless it is being charged. Never rejects. */
  async fail (error: unknown): Promise<void> {
    if (this.#isCharging) return
    const { rows, writes, clock, isDraining } = this.#context
    const gatewayError = toGatewayError(error)
    // This node is closing: clients that wait at other nodes begin again there.
    const failure = isDraining() && gatewayError.status === 503 ? generationLost() : gatewayError
    const failed = writes.write(() => rows.fail(this.id, failure, clock(), mediaOf(this.#made)))
    await Promise.race([failed, sleep(maxFailMs, undefined, { ref: false })])
    this.#ended.reject(error)
  }

  /** Ends it as lost for the clients of this node: whether the database has it is unknown. */
  lose (): void {
    this.#ended.reject(generationLost())
  }

  /** Resolves with whether it succeeded, once it is charged or this node closes. */
  async #keepOnce (written: Promise<void>): Promise<boolean> {
    const { rows, writes, clock } = this.#context
    await Promise.race([written, writes.closing])
    // If this node closes first, the next request learns from the ledger whether it was charged.
    if (writes.isClosed) return true
    return await writes.write(() => rows.succeed(this.id, clock() + keepMs)) !== false
  }

  #end (isKept: boolean): void {
    if (isKept && this.#made !== null) this.#ended.resolve(this.#made)
    else this.lose()
  }
}

const lostCode = 'generation_lost'

/** 503: the node that made the images is gone, or was taken for dead. */
export function generationLost (): GatewayError {
  return GatewayError.unavailable('The node that generated the images failed.', { code: lostCode })
}

export function isGenerationLost (error: unknown): boolean {
  return error instanceof GatewayError && error.code === lostCode
}

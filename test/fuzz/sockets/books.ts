import { setTimeout as pause } from 'node:timers/promises'
import type { RawAnswer } from './connection.ts'
import type { FuzzedGateway } from './gateway.ts'
import type { FuzzRequest } from './requests.ts'

/** What the books must say after the requests so far. */
export interface Books {
  /** Notes an answer that is charged. */
  expect (request: FuzzRequest, answer: RawAnswer): void
  /** Waits until nothing is held; returns what is missing. */
  problems (): Promise<string[]>
  /** Lets the ledger check itself. */
  check (): Promise<string[]>
}

interface Entry { id: string, ref: string | null, amount_nano: number, kind: string }

const longestWaitMs = 40_000
const cancelEveryMs = 2_000

/** Creates the books of a gateway that nobody else uses. */
export function createBooks (gateway: FuzzedGateway): Books {
  /** By the ids of requests: what their answers say they cost, in nano-USD; null: they do not say. */
  let expected = new Map<string, { nano: number | null, only: number }>()
  let newest = ''

  async function waitForHolds (): Promise<string[]> {
    const startMs = performance.now()
    let cancelAtMs = startMs + cancelEveryMs
    for (;;) {
      const { data } = await gateway.admin('/admin/accounts?limit=1000') as { data: { id: string, held_nano: number }[] }
      const held = data.filter(({ held_nano: nano }) => nano !== 0)
      if (held.length === 0) return []
      const nowMs = performance.now()
      if (nowMs - startMs > longestWaitMs) return held.map(({ id, held_nano: nano }) => `a hold stays open: ${nano} nano-USD of ${id}`)
      // A provider that does not say what became of a video is asked for hours, unless an operator ends it.
      if (nowMs > cancelAtMs) {
        cancelAtMs = nowMs + cancelEveryMs
        await cancelJobs()
      }
      await pause(100)
    }
  }

  async function cancelJobs (): Promise<void> {
    for (const state of ['submitting', 'queued', 'running', 'storing']) {
      const { data } = await gateway.admin(`/admin/jobs?state=${state}&limit=1000`) as { data: { id: string }[] }
      for (const { id } of data) await gateway.admin(`/admin/jobs/${id}/cancel`, 'POST').catch(() => {})
    }
  }

  /** The usage entries since the last call, by request. */
  async function newEntries (): Promise<Map<string, Entry[]>> {
    const byRef = new Map<string, Entry[]>()
    const before = newest
    let after = ''
    for (;;) {
      const page = await gateway.admin(`/admin/entries?kind=usage&limit=1000${after}`) as { data: Entry[], next: string | null }
      for (const entry of page.data) {
        if (newest === before) newest = entry.id
        if (entry.id === before) return byRef
        const ref = entry.ref ?? ''
        byRef.set(ref, [...byRef.get(ref) ?? [], entry])
      }
      if (page.next === null) return byRef
      after = `&after=${encodeURIComponent(page.next)}`
    }
  }

  return {
    expect ({ surface, isJoined, id, index, model }, { status, headers, body, problem }) {
      if (surface.isCharged !== true || status !== 200 || isJoined || problem !== null) return
      if (headers.get('x-request-id') !== id || !headers.has('x-tollgate-provider')) return
      const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
      if (isStream && !body.subarray(-16).toString().includes('[DONE]')) return
      const cost = headers.get('x-tollgate-cost')
      if (model === null || /image|video|^v-/.test(model)) return
      expected.set(id, { nano: cost === undefined ? null : Math.round(Number(cost) * 1e9), only: index })
    },

    async problems () {
      const problems = await waitForHolds()
      const entries = await newEntries()
      for (const [id, { nano, only }] of expected) {
        const own = entries.get(id)
        const sum = own?.reduce((sum, { amount_nano: amount }) => sum + amount, 0)
        if (sum === undefined) problems.push(`no entry for an answer (--only ${only})`)
        else if (nano !== null && sum !== nano) problems.push(`an answer (--only ${only}) says it costs ${nano} nano-USD, its entries ${sum}`)
      }
      expected = new Map()
      return problems
    },

    async check () {
      const { violations = [] } = await gateway.admin('/admin/ledger/check', 'POST') as { violations?: unknown[] }
      return violations.map(violation => `the books: ${JSON.stringify(violation).slice(0, 300)}`)
    }
  }
}

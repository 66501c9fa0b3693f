import t from 'tap'
import { createPostings, possibleKeys } from '../../../../../services/billing/ledger/commit/postings.ts'
import type { KnownHolds } from '../../../../../services/billing/ledger/commit/postings.ts'
import type { Term } from '../../../../../services/billing/ledger/node-allowance.ts'
import { holdState } from '../../../../../services/billing/ledger/sql/rows.ts'
import type { Settlement } from '../../../../../services/billing/ledger/types.ts'
import { charge } from '../helper.ts'

const term: Term = { id: 'n/2', epoch: 2, lastSequence: 0, allowances: new Map(), dirty: new Set() }
const earlier: Term = { ...term, id: 'n/1', epoch: 1 }
const known: KnownHolds = {
  term,
  booked: new Map([[term, new Map([['acme', 3]])], [earlier, new Map([['acme', 9]])]]),
  durable: new Map(),
  bookedKeys: new Set()
}

function settlement (more: Partial<Settlement> = {}, of: Term | null = term, fresh = false): Settlement {
  const grant = of === null ? null : { term: of, allowances: [] }
  return {
    hold: { id: 'h', chain: ['acme', 'budget'], key: 'key', amountNano: 100, grant, fresh },
    sequence: 0,
    charge: charge(60),
    at: 42,
    suspended: null,
    ...more
  }
}

const durableRows = (state: number) =>
  ['acme', 'budget'].map(account => ({ id: 'h', account, amountNano: 100, state }))

for (const [name, given, rows, kinds] of [
  ['of this term', settlement(), [], ['usage']],
  ['of an ended term', settlement({}, earlier), [], ['suspense']],
  ['that cannot be charged', settlement({ suspended: 'rejected' }), [], ['suspense']],
  ['with the next sequence number', settlement({ sequence: 4 }, term, true), [], ['usage']],
  ['with a sequence number that is booked', settlement({ sequence: 3 }, term, true), [], []],
  ['of an ended term, with a sequence number that is booked', settlement({ sequence: 9 }, earlier, true), [], []],
  ['of an ended term, with a later sequence number', settlement({ sequence: 10 }, earlier, true), [], ['suspense']],
  ['of an open durable hold', settlement({}, null), durableRows(holdState.open), ['usage']],
  ['of a settled durable hold', settlement({}, null), durableRows(holdState.settled), []],
  ['of a released durable hold', settlement({}, null), durableRows(holdState.released), []],
  ['of a revoked durable hold', settlement({}, null), durableRows(holdState.revoked), ['suspense']],
  ['of a durable hold that is not stored', settlement({}, null), [], ['suspense']],
  ['that costs nothing', settlement({ charge: null }, null), durableRows(holdState.open), []]
] as const) {
  t.test(`a settlement ${name} becomes ${kinds.length === 0 ? 'no entry' : kinds.join()}`, async t => {
    const { entries, suspended } = createPostings([given], { ...known, durable: new Map([['h', rows]]) })
    t.same(entries.map(({ kind }) => kind), kinds)
    t.equal(suspended.length, entries.filter(({ kind }) => kind === 'suspense').length)
    for (const { debit, credit, amount, chain, at } of entries) {
      t.same([debit, credit, amount, chain, at],
        [kinds[0] === 'usage' ? 'acme' : 'suspense', 'revenue', 60, 'acme budget', 42])
    }
  })
}

t.test('only a charge with a sequence number has no idempotency key', async t => {
  const keys = (given: Settlement) =>
    createPostings([given], known).entries.map(entry => entry.idempotency_key)
  t.same(keys(settlement({ sequence: 4 }, term, true)), [null])
  t.same(keys(settlement()), ['usage:h'])
  t.same(keys(settlement({ sequence: 10 }, earlier, true)), ['usage:h'], 'suspense')
  const sequenced = [settlement({ sequence: 4 }, term, true), settlement({ sequence: 10 }, earlier, true)]
  t.same(possibleKeys([settlement(), ...sequenced], term), ['usage:h', 'usage:h'])
})

t.test('what exceeds the hold is a second entry, in suspense', async t => {
  const above = { charge: charge(160) }
  for (const [given, rows] of [
    [settlement({ ...above, sequence: 4 }, term, true), []],
    [settlement(above), []],
    [settlement(above, null), durableRows(holdState.open)]
  ] as const) {
    const { entries, suspended, changes, ended } = createPostings([given], { ...known, durable: new Map([['h', rows]]) })
    t.match(entries, [
      { kind: 'usage', debit: 'acme', amount: 100, usage: '{"prompt":1,"excessNano":60}', reason: null },
      { kind: 'suspense', debit: 'suspense', amount: 60, usage: '{"prompt":1}', reason: 'over_hold', idempotency_key: 'excess:h' }
    ])
    t.same(suspended, entries.slice(1))
    t.match(changes().get('budget'), { spentNano: 100 })
    t.same(ended().map(({ settled }) => settled), rows.length === 0 ? [] : [100])
  }
  t.same(createPostings([settlement({ ...above, sequence: 3 }, term, true)], known).entries, [], 'booked before')
})

t.test('a charge that goes to suspense goes there whole, with the reason', async t => {
  for (const [given, reason] of [
    [settlement({ charge: charge(160) }, earlier), 'late'],
    [settlement({ charge: charge(160), suspended: 'rejected' }), 'rejected'],
    [settlement({ charge: charge(160), suspended: 'unverified' }, null), 'unverified']
  ] as const) {
    const { entries, changes } = createPostings([given], known)
    t.match(entries, [{ kind: 'suspense', amount: 160, reason, usage: '{"prompt":1}' }])
    t.equal(entries.length, 1)
    t.match(changes().get('acme') ?? { spentNano: 0 }, { spentNano: 0 })
  }
  const { changes } = createPostings([settlement({ charge: charge(160), suspended: 'rejected' })], known)
  t.match(changes().get('acme'), { suspendedNano: 100 }, 'the allowance had given the hold')
})

t.test('accounts change by what is new, allowances by what was settled', async t => {
  const change = { postedNano: 60, suspendedNano: 0, releasedNano: 0, sequence: 0 }
  const { changes } = createPostings([settlement()], known)
  const before = createPostings([settlement()], { ...known, bookedKeys: new Set(['usage:h']) })
  const twice = createPostings([settlement(), settlement()], known)
  for (const account of ['acme', 'budget']) {
    t.same(changes().get(account), { ...change, spentNano: 60 })
    t.same(before.changes().get(account), { ...change, spentNano: 0 }, 'it was booked before')
    t.match(twice.changes().get(account), { spentNano: 60, postedNano: 120 }, 'it is booked once')
  }
  t.same([before.entries.length, twice.entries.length], [0, 1])
  const booked = createPostings([settlement({ sequence: 3 }, term, true)], known)
  t.same(booked.changes().get('acme'), { ...change, spentNano: 0, sequence: 3 })
  const suspended = createPostings([settlement({ suspended: 'rejected' })], known)
  t.match(suspended.changes().get('acme'), { postedNano: 0, suspendedNano: 60, spentNano: 0 })
  const late = createPostings([settlement({}, earlier)], known)
  t.match(late.changes().get('acme'), { postedNano: 0, suspendedNano: 0, spentNano: 0 })
})

t.test('a durable hold is released on every account and ends once', async t => {
  const open = { ...known, durable: new Map([['h', durableRows(holdState.open)]]) }
  const charged = createPostings([settlement({}, null)], open)
  t.match(charged.changes().get('budget'), { releasedNano: 100, spentNano: 60, postedNano: 0 })
  t.same(charged.ended(), [{ id: 'h', state: holdState.settled, settled: 60, open: 2 }])
  const unused = createPostings([settlement({ charge: null }, null)], open)
  t.match(unused.changes().get('budget'), { releasedNano: 100, spentNano: 0 })
  t.same(unused.ended(), [{ id: 'h', state: holdState.released, settled: null, open: 2 }])
  const settled = { ...known, durable: new Map([['h', durableRows(holdState.settled)]]) }
  const again = createPostings([settlement({}, null)], settled)
  t.same(again.ended(), [])
})

t.test('only the payer keeps the sequence number, because chains are booked independently', async t => {
  const { changes } = createPostings([settlement({ sequence: 4 }, term, true)], known)
  t.match(changes().get('acme'), { sequence: 4 })
  t.match(changes().get('budget'), { sequence: 0 })
})

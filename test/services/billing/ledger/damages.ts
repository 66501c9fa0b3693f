/** A statement that inserts an entry, as nothing in the gateway does. */
export const entry = (values: string) => `
  insert into entry (idempotency_key, at, debit, credit, amount, kind, hold, chain, reverses) values ('wrong', 0, ${values})`
const hold = (values: string) => `
  insert into hold (id, account, kind, owner, amount, created_at, state, settled, resolved_at)
  values ('wrong', 'acme', ${values}, ${Date.now()})`

const movement = (amount: number) =>
  `insert into movement (entry, account, amount) select max(seq), 'acme', ${amount} from entry`

/** What breaks each rule, and nothing else. */
export const damages: Record<string, { sql: string[], subject: string | RegExp }> = {
  'held is the sum of open holds': {
    sql: ["update account set held = held + 1 where id = 'acme'"], subject: 'acme'
  },
  'spent is usage less refunds': {
    sql: ["update account set spent = spent + 1 where id = 'budget'"], subject: 'budget'
  },
  'credits are the movements of entries': {
    sql: ["update account set credits = credits + 1 where id = 'acme'"], subject: 'acme'
  },
  'a movement is what its entry says': {
    sql: [entry("'funding', 'acme', 5, 'deposit', null, null, null"), movement(7),
      "update account set credits = credits + 7 where id = 'acme'"],
    subject: 'wrong'
  },
  'an entry that changes credits has its movement': {
    sql: [entry("'funding', 'acme', 5, 'deposit', null, null, null")], subject: 'wrong'
  },
  'no account is overdrawn': {
    sql: [entry("'acme', 'funding', 500, 'adjust', null, null, null"), movement(-500),
      "update account set credits = credits - 500 where id = 'acme'"],
    subject: 'acme'
  },
  'a settled hold has its entry, and no other hold has one': {
    sql: [hold("'job', 'n', 5, 0, 1, 5")], subject: 'wrong acme'
  },
  'the rows of a hold end alike': {
    sql: [hold("'job', 'n', 5, 0, 2, null"),
      "insert into hold (id, account, kind, owner, amount, created_at) values ('wrong', 'budget', 'job', 'n', 0, 0)"],
    subject: 'wrong'
  },
  'no entry is refunded by more than it was': {
    sql: [entry("'revenue', 'acme', 601, 'refund', null, 'acme budget', (select max(seq) from entry)"),
      "update account set spent = 0 where id in ('acme', 'budget')",
      "insert into entry (idempotency_key, at, debit, credit, amount, kind, chain) values ('even', 0, 'acme', 'revenue', 1, 'usage', 'acme budget')"],
    subject: /^entry_\d+$/
  },
  'an entry in suspense is closed in full': {
    sql: [
      "insert into entry (idempotency_key, at, debit, credit, amount, kind) values ('open', 0, 'suspense', 'revenue', 7, 'suspense')",
      entry("'revenue', 'suspense', 6, 'suspense', null, null, (select max(seq) from entry)")
    ],
    subject: /^entry_\d+$/
  },
  'every entry is between the right accounts': {
    sql: [entry("'funding', 'revenue', 5, 'deposit', null, null, null")], subject: 'wrong'
  },
  'every posting names a chain that includes the paying account': {
    sql: [entry("'acme', 'revenue', 5, 'usage', null, 'nothing', null")], subject: /^entry_\d+$/
  },
  'customers\' accounts and the gateway\'s own add up to zero': {
    sql: [entry("'nobody', 'funding', 5, 'suspense', null, null, null")], subject: 'all accounts'
  }
}

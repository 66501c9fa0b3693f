/** What a broken rule means, and what an operator does about it. */
interface Explanation { meaning: string, advice: string }

const alteredAccount = 'A row of the table `account` was changed by something other than Tollgate, or restored ' +
  'from another time than its entries.'
const alteredEntries = 'Entries are append-only, so a broken one was written by something other than Tollgate.'

/** The rules of the books, and what to do when one is broken. */
export const explanations = {
  'held is the sum of open holds': {
    meaning: `The account's held amount differs from its open holds. ${alteredAccount}`,
    advice: 'Stop all nodes, set `account.held` to the expected amount, check again and start them.'
  },
  'spent is usage less refunds': {
    meaning: `The account or budget has spent another amount than its entries say. ${alteredAccount}`,
    advice: 'The entries are the truth: stop all nodes, set `account.spent` to the expected amount, check again ' +
      'and start them.'
  },
  'credits are the movements of entries': {
    meaning: `The account has other credits than the movements of its entries come to. ${alteredAccount}`,
    advice: 'To keep the credits as they are, stop all nodes, set `account.credits` to the expected amount and book ' +
      'the difference with `tollgate credits adjust`; otherwise only set it.'
  },
  'no account is overdrawn': {
    meaning: 'More is spent and held than was paid in. Requests cannot do that; a change of the database can.',
    advice: 'The account gets no request until it is covered: find the entry with `tollgate ledger entries ' +
      '--account`, then deposit or adjust what is missing.'
  },
  'a hold has at most one usage entry': {
    meaning: 'One request or job was charged twice, which a unique index prevents: the index is missing or damaged.',
    advice: 'Refund the second entry with `tollgate credits refund` and rebuild the index `entry_hold`.'
  },
  'a settled hold has its entry, and no other hold has one': {
    meaning: 'What a hold says was charged differs from its entry, or one of the two is missing. Both are written in ' +
      'one transaction, so a row was changed or lost.',
    advice: 'Look the request or job up by the id of its hold. If it was charged wrongly, book the difference with ' +
      '`tollgate credits refund` or `adjust`.'
  },
  'the rows of a hold end alike': {
    meaning: 'A hold has ended for one account of its chain and not for another, so money may stay held.',
    advice: 'If one row is still open, stop all nodes, give it the state of the others, lower `account.held` by its ' +
      'amount, and check again.'
  },
  'no entry is refunded by more than it was': {
    meaning: `The refunds of a charge exceed it. ${alteredEntries}`,
    advice: 'Take the excess back with a negative `tollgate credits adjust`.'
  },
  'an entry in suspense is closed in full': {
    meaning: `The entry that clears or writes off an amount in suspense is of another amount. ${alteredEntries}`,
    advice: 'If an account was charged by it, book the difference with `tollgate credits refund` or `adjust`.'
  },
  'every entry is between the right accounts': {
    meaning: `An entry moves money between accounts that its kind does not allow, or that do not exist. ${alteredEntries}`,
    advice: 'Find out who writes to the database. Correct the account with `tollgate credits adjust`; the entry stays.'
  },
  'a movement is what its entry says': {
    meaning: 'A row of the table `movement` changes the credits of an account by another amount than its entry, or has ' +
      `no entry. ${alteredEntries}`,
    advice: 'Find out who writes to the database. Correct the account with `tollgate credits adjust`; the row stays.'
  },
  'an entry that changes credits has its movement': {
    meaning: 'A deposit, withdrawal, adjustment or transfer does not say whose credits it changes: the row of the table ' +
      '`movement` is missing. Both are written in one transaction.',
    advice: 'If the account was credited, insert the row; otherwise book the difference with `tollgate credits adjust`.'
  },
  'usage by day is the sum of its entries': {
    meaning: 'A row of the table `usage_day` differs from the entries of that day, so reports of usage are wrong. The ' +
      'books themselves are right. The row was changed by something other than Tollgate, or restored from another ' +
      'time than the entries.',
    advice: 'Run `delete from usage_day` and `update usage_progress set seq = 0` in one transaction; nodes may run ' +
      'meanwhile. They make the rows again: wait until `tollgate_usage_entries_waiting` is 0, then check again.'
  },
  'every posting names a chain that includes the paying account': {
    meaning: 'A charge or refund does not say which accounts it counts for, so sums over entries miss it. ' +
      alteredEntries,
    advice: 'Find out who writes to the database, or whether rows of the table `chain` were lost; insert them again.'
  },
  'customers\' accounts and the gateway\'s own add up to zero': {
    meaning: `Money comes from or goes to an account that does not exist. ${alteredEntries}`,
    advice: 'See the violations of "every entry is between the right accounts": they name the entries.'
  }
} satisfies Record<string, Explanation>

export type RuleName = keyof typeof explanations

/** One trick of the code that a chat request runs, and the plain code in its place. */
export interface Trick {
  /** What is done instead, in the report. */
  plain: string
  patches: readonly Patch[]
}

/** A text that a file has exactly once, and what takes its place; `$plain` is whether the trick is off. */
export interface Patch { file: string, from: string, to: string }

/** By name. All are switched in one process, so each patch keeps the trick beside the plain code. */
export const tricks: Readonly<Record<string, Trick>> = {
  cost: {
    plain: 'an answer is serialized again for its cost',
    patches: [{
      file: 'services/chat/reply-chat.ts',
      from: 'text === null || hasOther ?',
      to: '$plain || text === null || hasOther ?'
    }]
  },
  deadlines: {
    plain: 'a timer for each deadline',
    patches: [
      {
        file: 'services/shared/timers.ts',
        from: '  add (watched: Watched): void {\n',
        to: `  add (watched: Watched & { timer?: NodeJS.Timeout }): void {
    if ($plain) {
      this.#nowMs = performance.now()
      watched.timer = setTimeout(() => watched.onDeadline(), 60_000)
      return
    }\n`
      },
      {
        file: 'services/shared/timers.ts',
        from: '  delete (watched: Watched): void {\n',
        to: `  delete (watched: Watched & { timer?: NodeJS.Timeout }): void {
    if ($plain) return clearTimeout(watched.timer)\n`
      }
    ]
  },
  lines: {
    plain: 'each line of the log is handed to the destination',
    patches: [{
      file: 'services/operations/observability/logger.ts',
      from: '    lines += line\n',
      to: '    lines += line\n    if ($plain) handOver()\n'
    }]
  },
  rows: {
    plain: 'one statement for each row of SQLite',
    patches: [{
      file: 'services/store/sqlite-connection.ts',
      from: '    let inserted = 0\n    for (let from = 0; from < rows.length; from += rowsPerStatement) {',
      to: `    let inserted = 0
    const step = $plain ? 1 : rowsPerStatement
    for (let from = 0; from < rows.length; from += step) {`
    }, {
      file: 'services/store/sqlite-connection.ts',
      from: 'rows.slice(from, from + rowsPerStatement)',
      to: 'rows.slice(from, from + step)'
    }]
  },
  running: {
    plain: 'a `Set` of what is under way',
    patches: [
      {
        file: 'services/shared/timers.ts',
        from: '  readonly #members: Member[] = []\n',
        to: '  readonly #members: Member[] = []\n  readonly #plain = new Set<Member>()\n'
      },
      {
        file: 'services/shared/timers.ts',
        from: '    return this.#members.length\n',
        to: '    return this.#members.length + this.#plain.size\n'
      },
      {
        file: 'services/shared/timers.ts',
        from: '    member.slot = this.#members.push(member) - 1\n',
        to: '    if ($plain) this.#plain.add(member)\n    else member.slot = this.#members.push(member) - 1\n'
      },
      {
        file: 'services/shared/timers.ts',
        from: '    if (this.#members[member.slot] !== member) return\n',
        to: '    if ($plain && this.#plain.delete(member)) return\n    if (this.#members[member.slot] !== member) return\n'
      },
      {
        file: 'services/shared/timers.ts',
        from: '    for (const member of this.#members.slice()) visit(member)\n',
        to: '    for (const member of [...this.#members, ...this.#plain]) visit(member)\n'
      }
    ]
  },
  turns: {
    plain: 'requests and answers go on as soon as they come',
    patches: [{
      file: 'services/shared/timers.ts',
      from: '  if (waiting.push(work) === 1)',
      to: '  if ($plain) return work()\n  if (waiting.push(work) === 1)'
    }]
  }
}

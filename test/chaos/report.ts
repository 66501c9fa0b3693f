/** Counts checks and names those that failed. */
export interface Report {
  check (passed: boolean, what: string): void
  /** Prints the closing line and sets the exit code. */
  close (): void
}

export function createReport (): Report {
  const count = { passed: 0, failed: 0 }
  return {
    check (passed, what) {
      count[passed ? 'passed' : 'failed']++
      if (!passed) process.stdout.write(`FAILED ${what}\n`)
    },
    close () {
      process.stdout.write(`${count.passed} passed, ${count.failed} failed\n`)
      if (count.failed > 0) process.exitCode = 1
    }
  }
}

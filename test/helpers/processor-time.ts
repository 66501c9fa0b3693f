/** The processor time of this thread in ms. Unlike other clocks, a busy machine does not advance it. */
export function processorMs (): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

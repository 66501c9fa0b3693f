// Loaded before the tests. Fastify looks twice for a plugin without a name among all CommonJS modules that
// are loaded. Each gateway registers some 60 of them, which takes one twentieth of the time of a run. So they
// have the name of their function, which Fastify would use in the end.

const displayName = Symbol.for('fastify.display-name')
const allFunctions: object = Object.getPrototypeOf(() => {})

Object.defineProperty(allFunctions, displayName, {
  configurable: true,
  get (this: { name: string }) { return this.name || 'anonymous' },
  set (this: object, value: unknown) {
    Object.defineProperty(this, displayName, { value, configurable: true, writable: true })
  }
})

import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['node_modules', '.tap', 'data'] }),
  {
    rules: {
      '@stylistic/max-len': ['error', { code: 110, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }]
    }
  },
  {
    files: ['**/*.ts'],
    rules: { '@typescript-eslint/no-explicit-any': 'error' }
  },
  {
    // A schema and its static type share one name.
    files: ['schemas/**'],
    rules: { '@typescript-eslint/no-redeclare': 'off' }
  }
]

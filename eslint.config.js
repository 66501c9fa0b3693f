import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['node_modules', '.tap', 'data', 'console/dist'] }),
  {
    rules: {
      '@stylistic/max-len': ['error', { code: 110, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }]
    }
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    rules: { '@typescript-eslint/no-explicit-any': 'error' }
  },
  {
    // Markup is nested deeper than statements.
    files: ['**/*.tsx'],
    rules: {
      '@stylistic/max-len': ['error', { code: 150, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true }]
    }
  },
  {
    // A schema and its static type share one name.
    files: ['schemas/**'],
    rules: { '@typescript-eslint/no-redeclare': 'off' }
  }
]

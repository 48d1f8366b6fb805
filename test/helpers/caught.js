import assert from 'node:assert/strict';

/**
 * @param {() => unknown} action
 * @returns {Promise<any>} the error that it throws or rejects with; when there is none, that is an error
 */
export async function caught(action) {
  let result;
  try {
    result = await action();
  } catch (error) {
    return error;
  }
  return assert.fail(`an error was expected, but it gave ${JSON.stringify(result)}`);
}

/** Each test of the sandbox in every tier that this host has: the file that is imported asks which one runs it. */
import './sandbox.slow-spec.js';

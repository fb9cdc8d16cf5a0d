import { readFileSync } from 'node:fs';

export interface SharedMemory {
  /** Of the length that the memory had when it was asked for: after growing, another one. */
  readonly buffer: SharedArrayBuffer;
  /** @throws RangeError beyond its maximum */
  grow(pages: number): number;
}

/** The compiled native/product.wat, which may travel to other threads. */
export type ProductModule = object;

/** Product of two vectors, by their addresses in bytes; the second one may be anywhere. `bytes` is a `strideOf`. */
export type Product = (query: number, vector: number, bytes: number) => number;

/** What is used of it here; TypeScript brings its types only together with the browser's. */
declare const WebAssembly: {
  Memory: new (size: { initial: number; maximum: number; shared: true }) => SharedMemory;
  Module: new (bytes: Uint8Array) => ProductModule;
  Instance: new (
    module: ProductModule,
    imports: { table: { memory: SharedMemory } },
  ) => { readonly exports: { readonly product: Product } };
};

/** @param file native/bin/product.wasm */
export const readProduct = (file: string): ProductModule => new WebAssembly.Module(readFileSync(file));

/** @returns the product of vectors in this memory, on this thread */
export const productIn = (memory: SharedMemory, module: ProductModule): Product =>
  new WebAssembly.Instance(module, { table: { memory } }).exports.product;

/** Address space for `maximum` pages, memory for `initial` ones. */
export const sharedMemory = (initial: number, maximum: number): SharedMemory =>
  new WebAssembly.Memory({ initial, maximum, shared: true });

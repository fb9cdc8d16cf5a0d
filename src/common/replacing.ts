/** The same object, but for the members that are given; everything else it does itself. */
export function replacing<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(of, name): unknown {
      if (name in members) return Reflect.get(members, name);
      const member: unknown = Reflect.get(of, name);
      return typeof member === 'function' ? member.bind(of) : member;
    },
  });
}

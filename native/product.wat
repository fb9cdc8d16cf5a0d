;; The product of two vectors of 32-bit numbers: the whole work of a search among playbooks' vectors.
;;
;; `a` and `b` are addresses, `bytes` is how long each vector is: a multiple of 64 and not 0. `a` may not end at the very
;; top of the memory; `b` may. Sixteen sums run side by side, in four registers that do not wait for each other.
(module
  (import "table" "memory" (memory 1 65536 shared))
  (func (export "product") (param $a i32) (param $b i32) (param $bytes i32) (result f32)
    (local $end i32)
    (local $s v128) (local $t v128) (local $u v128) (local $v v128)
    (local.set $end (i32.add (local.get $a) (local.get $bytes)))
    (loop $next
      (local.set $s (f32x4.add (local.get $s) (f32x4.mul (v128.load offset=0 (local.get $a)) (v128.load offset=0 (local.get $b)))))
      (local.set $t (f32x4.add (local.get $t) (f32x4.mul (v128.load offset=16 (local.get $a)) (v128.load offset=16 (local.get $b)))))
      (local.set $u (f32x4.add (local.get $u) (f32x4.mul (v128.load offset=32 (local.get $a)) (v128.load offset=32 (local.get $b)))))
      (local.set $v (f32x4.add (local.get $v) (f32x4.mul (v128.load offset=48 (local.get $a)) (v128.load offset=48 (local.get $b)))))
      (local.set $a (i32.add (local.get $a) (i32.const 64)))
      (local.set $b (i32.add (local.get $b) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $a) (local.get $end))))
    (local.set $s (f32x4.add (f32x4.add (local.get $s) (local.get $t)) (f32x4.add (local.get $u) (local.get $v))))
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $s)) (f32x4.extract_lane 1 (local.get $s)))
      (f32.add (f32x4.extract_lane 2 (local.get $s)) (f32x4.extract_lane 3 (local.get $s))))))

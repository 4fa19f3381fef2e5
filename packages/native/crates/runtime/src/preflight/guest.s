# What the long-mode tier runs. Position independent; assembled by rustc (Intel syntax), copied into the guest as it is.
#
# Routines follow the System V calling convention: rdi = work area, rsi = iterations (never 0), result in rax. All but
# .Lboxlab_pf_serve may change every caller-saved register. The plain routine is also called by the host process, so that guest
# and host times are those of the very same bytes. Every sum is stated in guest.rs (`Routine::expected_sum`).
#
# Local labels begin with 2: LLVM reads `0b` and `1b` as binary numbers in this syntax.
#
# Work area: +0x0000 page that the plain routine walks, +0x1000 counter for xadd, +0x1040 pair for cmpxchg16b,
# +0x2000 XSAVE area, +0x3000 the word behind the swapped GS base (it is 1).

    .pushsection .text.boxlab_preflight, "ax", @progbits
    .p2align 6
    .globl boxlab_preflight_guest
    .hidden boxlab_preflight_guest
    .globl boxlab_preflight_guest_end
    .hidden boxlab_preflight_guest_end
    .globl boxlab_preflight_plain
    .hidden boxlab_preflight_plain

# Offsets of the routines, in the order of `Routine`; the entry point and the breakpoint handler close the table.
boxlab_preflight_guest:
    .long boxlab_preflight_plain - boxlab_preflight_guest
    .long .Lboxlab_pf_cmpxchg16b - boxlab_preflight_guest
    .long .Lboxlab_pf_breakpoint - boxlab_preflight_guest
    .long .Lboxlab_pf_xsave - boxlab_preflight_guest
    .long .Lboxlab_pf_swapgs - boxlab_preflight_guest
    .long .Lboxlab_pf_msr - boxlab_preflight_guest
    .long .Lboxlab_pf_invlpg - boxlab_preflight_guest
    .long .Lboxlab_pf_mix - boxlab_preflight_guest
    .long .Lboxlab_pf_serve - boxlab_preflight_guest
    .long .Lboxlab_pf_on_breakpoint - boxlab_preflight_guest

# Entry point: rbx = mailbox {routine, work area, iterations, features}. Runs the routine, writes the low half of its sum to
# the port, and takes the next one; the host changes the mailbox while the vCPU is out.
.Lboxlab_pf_serve:
    mov rdi, qword ptr [rbx + 8]
    mov rsi, qword ptr [rbx + 16]
    mov rdx, qword ptr [rbx + 24]
    call qword ptr [rbx]
    out 0xb0, eax
    jmp .Lboxlab_pf_serve

# int3 lands here, through the IDT.
.Lboxlab_pf_on_breakpoint:
    inc r9
    iretq

# Loads, stores, stack, calls, branches, one locked add: unprivileged, and known to every instruction emulator.
boxlab_preflight_plain:
    xor eax, eax
    xor ecx, ecx
    mov qword ptr [rdi + 0x1000], rax
2:  lea r8, [rcx + rcx * 2]
    mov edx, ecx
    and edx, 63
    shl edx, 6
    mov qword ptr [rdi + rdx], r8
    push r8
    push rdx
    movzx r9d, byte ptr [rdi + rdx]
    call 3f
    pop rdx
    pop r8
    mov r10d, 1
    lock xadd qword ptr [rdi + 0x1000], r10
    add rax, r10
    inc rcx
    dec rsi
    jnz 2b
    ret
3:  test r9d, r9d
    je 4f
    add rax, r9
4:  ret

.Lboxlab_pf_cmpxchg16b:
    push rbx
    lea r8, [rdi + 0x1040]
    xor eax, eax
    mov qword ptr [r8], rax
    mov qword ptr [r8 + 8], rax
2:  mov rax, qword ptr [r8]
    mov rdx, qword ptr [r8 + 8]
    lea rbx, [rax + 1]
    lea rcx, [rdx + 2]
    lock cmpxchg16b xmmword ptr [r8]
    jnz 3f
    dec rsi
    jnz 2b
3:  mov rax, qword ptr [r8]
    add rax, qword ptr [r8 + 8]
    pop rbx
    ret

.Lboxlab_pf_breakpoint:
    xor r9d, r9d
2:  int3
    dec rsi
    jnz 2b
    mov rax, r9
    ret

# The register must come back from memory: it is cleared between the two. The host has enabled x87 and SSE state in XCR0.
.Lboxlab_pf_xsave:
    xor r9d, r9d
    lea r8, [rdi + 0x2000]
    xor edx, edx
2:  movq xmm0, rsi
    mov eax, 3
    xsave [r8]
    pxor xmm0, xmm0
    xrstor [r8]
    movq rax, xmm0
    add r9, rax
    dec rsi
    jnz 2b
    mov rax, r9
    ret

.Lboxlab_pf_swapgs:
    xor eax, eax
2:  swapgs
    add rax, qword ptr gs:[0]
    swapgs
    dec rsi
    jnz 2b
    ret

# MSR_KERNEL_GS_BASE: an MSR that hardware lets a guest have for itself. Its value is put back at the end.
.Lboxlab_pf_msr:
    xor r9d, r9d
    mov ecx, 0xc0000102
    rdmsr
    mov r8d, eax
    mov r10d, edx
2:  mov eax, esi
    xor edx, edx
    wrmsr
    xor eax, eax
    rdmsr
    add r9, rax
    dec rsi
    jnz 2b
    mov eax, r8d
    mov edx, r10d
    wrmsr
    mov rax, r9
    ret

# 0x200000 is mapped by a 4 KiB entry of its own (guest.rs).
.Lboxlab_pf_invlpg:
    xor eax, eax
    mov r8d, 0x200000
2:  mov qword ptr [r8], rsi
    invlpg [r8]
    add rax, qword ptr [r8]
    dec rsi
    jnz 2b
    ret

# The loop that counts: every kind of instruction in turn, as a kernel mixes them. rdx = features (bit 0 xsave, bit 1
# cmpxchg16b). MSR writes and invlpg come in each 64th iteration: on some real hosts they exit, and must not set the pace.
.Lboxlab_pf_mix:
    push rbx
    push r12
    push r13
    push r14
    push r15
    mov r12, rdi
    mov r13, rsi
    mov r14, rdx
    xor r15d, r15d
    xor ebx, ebx
2:  mov rdi, r12
    mov esi, 2
    call boxlab_preflight_plain
    add r15, rax
    mov esi, 1
    call .Lboxlab_pf_breakpoint
    add r15, rax
    mov esi, 1
    call .Lboxlab_pf_swapgs
    add r15, rax
    test r14b, 1
    jz 3f
    mov esi, 1
    call .Lboxlab_pf_xsave
    add r15, rax
3:  test r14b, 2
    jz 4f
    mov esi, 1
    call .Lboxlab_pf_cmpxchg16b
    add r15, rax
4:  test bl, 63
    jnz 5f
    mov esi, 1
    call .Lboxlab_pf_msr
    add r15, rax
    mov esi, 1
    call .Lboxlab_pf_invlpg
    add r15, rax
5:  inc rbx
    dec r13
    jnz 2b
    mov rax, r15
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    ret

boxlab_preflight_guest_end:
    .popsection

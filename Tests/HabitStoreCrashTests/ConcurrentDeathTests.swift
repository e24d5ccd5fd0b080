import Foundation
import HabitStoreTesting
import Testing
import Trials

#if canImport(Glibc)
import Glibc
#endif

/// Now and then the sweep gives a process no memory. If Swift itself then needs some, its runtime ends the process, which is not our fault. The sweep
/// recognised this by the last line of output, and took two such deaths for faults: one whose message was followed by a trace, and one by SIGSEGV,
/// where the runtime had no memory for the message either and dereferenced its null pointer. It also took every index out of range for a lack of
/// memory. Now the process reports where it was, and whether there was memory left.
struct ConcurrentDeathTests {
    @Test(arguments: [
        """
        Fatal error: failed to allocate 16384 bytes of memory with alignment 1
        Current stack trace:
        0    libswiftCore.so                    0x00007f5154d5f130 swift_reportError + 33
        1    libswiftCore.so                    0x00007f515506d197 <unavailable> + 4641175
        """,
        """
        terminate called after throwing an instance of 'std::bad_alloc'
          what():  std::bad_alloc
        """,
        """
        there is no memory for a hash
        Current stack trace:
        died of signal 5 at:
        /usr/bin/habitstore-trials(+0x1d82c7)[0x561c6d4463b0]
        """,
        """
        died of signal 11 with no memory left at:
        /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f43d9a5b050]
        /lib/x86_64-linux-gnu/libc.so.6(+0x15e27d)[0x7f43d9b7d27d]
        /lib/x86_64-linux-gnu/libc.so.6(fputs+0x15)[0x7f43d9a95585]
        /opt/swift/usr/lib/swift/linux/libswiftCore.so(+0x35f1de)[0x7f43daf5f1de]
        /opt/swift/usr/lib/swift/linux/libswiftCore.so(swift_slowAlloc+0x61)[0x7f43db26fab1]
        /usr/bin/habitstore-trials(+0x1d82c7)[0x561c6d4463b0]
        """,
    ])
    func aProcessThatSwiftEndsForWantOfMemoryIsNoViolation(_ errors: String) {
        #expect(ConcurrentDeath(errors: errors).isForWantOfMemory)
    }

    @Test(arguments: [
        "",
        """
        Swift/ContiguousArrayBuffer.swift:691: Fatal error: Index out of range
        Current stack trace:
        0    libswiftCore.so                    0x00007f515506d197 swift_allocateGenericClassMetadata + 200
        died of signal 4 with no memory left at:
        /opt/swift/usr/lib/swift/linux/libswiftCore.so(+0x35f1de)[0x7f43daf5f1de]
        """,
        """
        died of signal 11 with no memory left at:
        /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f43d9a5b050]
        /usr/lib/x86_64-linux-gnu/liblmdb.so.0(mdb_txn_begin+0x61)[0x7f43db26fab1]
        /opt/swift/usr/lib/swift/linux/libswiftCore.so(+0x35f1de)[0x7f43daf5f1de]
        """,
        """
        died of signal 11 with no memory left at:
        /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f43d9a5b050]
        /usr/libswift/habitstore-trials(+0x1d82c7)[0x561c6d4463b0]
        """,
        """
        died of signal 11 at:
        /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f43d9a5b050]
        /opt/swift/usr/lib/swift/linux/libswiftCore.so(swift_release+0x61)[0x7f43db26fab1]
        """,
        "HabitStore/InMemoryEngine.swift:31: Fatal error: Index out of range\nCurrent stack trace:\n0 libswiftCore.so",
        "Fatal error: Object 0x5581 of class Mirror deallocated with non-zero retain count 2; it was allocated elsewhere",
    ])
    func anyOtherDeathIsAViolation(_ errors: String) { #expect(!ConcurrentDeath(errors: errors).isForWantOfMemory) }

    @Test func aViolationSaysWhatTheProcessSaidOrWhereItWas() {
        let trap = ConcurrentDeath(errors: "Fatal error: Index out of range\nCurrent stack trace:\n0 libswiftCore.so\n")
        #expect(trap.summary == "Fatal error: Index out of range")
        let silent = ConcurrentDeath(
            errors: "died of signal 11 at:\n/usr/lib/libc.so.6(+0x3)[0x7f]\n/usr/lib/liblmdb.so.0(mdb_get+0x61)[0x7e]\n"
        )
        #expect(silent.summary == "liblmdb.so.0(mdb_get+0x61)[0x7e]")
        #expect(ConcurrentDeath(errors: "").summary.isEmpty)
    }

    #if canImport(Glibc)
    private typealias SetLimit =
        @convention(c) (pid_t, Int32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?) -> Int32

    /// `prlimit`, which the headers declare only with `_GNU_SOURCE`.
    private static func setLimit() throws -> SetLimit {
        unsafeBitCast(try #require(dlsym(nil, "prlimit")), to: SetLimit.self)
    }

    /// The process is waiting for a line at that moment, in Swift's library and the C library below it.
    @Test(arguments: [false, true])
    func aProcessTellsWhereItWasAndWhetherThereWasMemory(hasNoMemory: Bool) throws {
        let folder = try TemporaryFolder()
        let process = try ChildProcess(
            TrialsExecutable.path,
            [
                "tangle-child", "--root", folder.path("root"), "--flags", folder.path("flags.json"),
                "--old", "sqlite", "--lane", "1", "--seed", "1", "--silent",
            ],
            environment: ChildProcess.environment(["SWIFT_BACKTRACE": "enable=no"]),
            input: .open
        )
        // Once the user is open, nothing more happens.
        try #require(process.waitForOutput { $0.contains(UInt8(ascii: "\n")) })
        #expect(String(decoding: process.output, as: UTF8.self) == "d opened\n")
        if hasNoMemory {
            var nothing = rlimit(rlim_cur: 0, rlim_max: 0)
            #expect(try Self.setLimit()(process.id, Int32(RLIMIT_AS.rawValue), &nothing, nil) == 0)
        }
        process.signal(SIGSEGV)
        let end = try process.end()
        let said = end.errors
        #expect(end.isSignalled && end.status == SIGSEGV)
        #expect(said.hasPrefix("died of signal 11\(hasNoMemory ? " with no memory left" : "") at:\n"), "\(said)")
        let death = ConcurrentDeath(errors: said)
        #expect(death.summary.hasPrefix("libswiftCore.so("), "\(said)")
        #expect(death.isForWantOfMemory == hasNoMemory, "\(said)")
    }
    #endif
}

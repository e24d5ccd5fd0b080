import CLMDB
import HabitStore

extension LMDBEnvironmentCore {
    /// The current state of the file; the caller is inside.
    fileprivate func position() throws -> LMDBSoundKeeper.Position {
        var descriptor: mdb_filehandle_t = -1
        var information = MDB_envinfo()
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0,
            mdb_env_info(environment, &information) == 0
        else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        return LMDBSoundKeeper.Position(descriptor: descriptor, transaction: UInt64(information.me_last_txnid))
    }

    /// Notes the beginning of a write transaction; this thread is the writer.
    func noteWriteBeginning(transaction: UInt64) {
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0 else { return }
        soundness.beginWrite(transaction: transaction, descriptor: descriptor)
    }

    /// Notes the commit or rollback of a write transaction; this thread is the writer.
    func noteWriteEnd() {
        guard let position = try? position() else { return soundness.forget() }
        soundness.endWrite(position)
    }
}

extension LMDBEnvironment {
    /// Whether every page was checked since the system started, and only commits of these processes have changed the file since.
    func isMarkedSound() throws -> Bool {
        try withRead { _ in
            let position = try core.position()
            return try core.soundness.takeOpening(position) || core.soundness.isMarked { try core.position() }
        }
    }

    /// The input of ``markSound(since:)``, to be taken before all pages are checked; nil if there is nothing to mark.
    func soundnessBeforeWalk() throws -> LMDBSoundMark? {
        guard !isReadOnly else { return nil }
        return try withRead { _ in core.soundness.beginWalk(try core.position()) }
    }

    /// Records that every page was checked and is intact, unless the file has changed meanwhile.
    func markSound(since beginning: LMDBSoundMark) throws {
        try withRead { _ in core.soundness.endWalk(beginning, try core.position()) }
    }
}

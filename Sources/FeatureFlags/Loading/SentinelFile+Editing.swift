import DurableFiles

extension SentinelFile {
    /// Makes the file, for its owner only, and brings it to the disk: who looks for it need not open it. One that is there already, whatever it is, is as good.
    ///
    /// - Returns: Whether the file is new.
    /// - Throws: A ``FlagError`` where it cannot be made.
    @discardableResult
    public func create() throws(FlagError) -> Bool {
        defer { check() }
        do {
            return try MarkerFile.make(path, "The kill switch is pulled while this file exists.\n")
        } catch {
            // The existence is the signal, which all processes see from now on, whatever the disk says.
            guard error.step == .make else { return true }
            throw FlagError(error, "the sentinel file \(error)")
        }
    }

    /// Removes what is at the path, and brings that to the disk. A folder is removed when it is empty.
    ///
    /// - Returns: Whether there was anything.
    /// - Throws: A ``FlagError`` where it cannot be removed.
    @discardableResult
    public func remove() throws(FlagError) -> Bool {
        defer { check() }
        do {
            return try MarkerFile.remove(path)
        } catch {
            // After a power cut the kill may come back, which errs on the safe side.
            guard error.step == .remove else { return true }
            throw FlagError(error, "the sentinel file \(error)")
        }
    }
}

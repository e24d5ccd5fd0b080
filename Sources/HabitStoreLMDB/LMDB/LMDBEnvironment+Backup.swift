extension LMDBEnvironment {
    /// Durably writes a consistent copy to a new file, while other threads and processes read and write.
    ///
    /// - Parameters:
    ///   - path: the path of the finished copy. An existing file is never overwritten.
    ///   - compact: whether to leave out free pages. Slower, and refused by liblmdb if pages of the file have leaked.
    func copy(to path: String, compact: Bool) throws {
        try LMDBDraft.write(path, during: "making the copy") { descriptor in
            try core.copy(to: descriptor, compact: compact, for: self)
        }
    }
}

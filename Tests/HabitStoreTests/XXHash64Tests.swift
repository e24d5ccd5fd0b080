@_spi(Engines) import HabitStore
import Testing

@Suite("XXH64")
struct XXHash64Tests {
    /// The values are those of the C library xxHash 0.8, for the bytes `i * 131 + 7` and the seeds 0 and 0x9E3779B1.
    @Test(
        arguments: [
            (0, 0xEF46_DB37_51D8_E999, 0xAC75_FDA2_929B_17EF), (1, 0xA96C_7F0C_E858_BBB7, 0x84E5_35B3_6672_440D),
            (3, 0xBED4_3740_EE63_32BB, 0x00B7_7B48_5431_CE5D), (4, 0xFA21_2AE4_4B3B_B23D, 0x6049_2C4B_FCB7_0CAC),
            (7, 0x2744_460D_D675_D2C0, 0xCDF8_3B72_9545_B016), (8, 0x994B_676B_71CE_94DD, 0xF424_EDEB_FEA8_D23F),
            (12, 0xB92F_588C_E720_786E, 0xDDD8_9BDB_F8AA_26E0), (16, 0x94AD_0095_E72B_24D5, 0x4EFF_E275_897A_BAB4),
            (31, 0x6711_D55E_306B_5D8F, 0xFA12_59CC_8B20_EB58), (32, 0x07F7_B8E3_BC5D_6E25, 0x920F_3E10_A5DB_09C6),
            (33, 0x09F8_5EEB_4E1C_BE9F, 0x3D80_5E87_12CB_4890), (40, 0xD251_5017_7BA4_6490, 0x9A1C_D34E_5C66_F41E),
            (63, 0xB7C9_968C_066C_B6A5, 0x184B_C509_7530_BB9A), (64, 0x50D4_159A_0411_632E, 0x9466_7E10_D68B_3991),
            (65, 0xD277_176B_FF86_3EFC, 0xE181_E4D7_3691_5EB4), (100, 0x9DDA_DA11_D3DC_2D8F, 0x5766_BE67_82B9_6389),
            (1_000, 0x0BF0_BDBC_C82E_B373, 0xB43E_3585_5304_9780),
        ] as [(Int, UInt64, UInt64)]
    )
    func hashesAsThePublishedAlgorithm(_ length: Int, _ unseeded: UInt64, _ seeded: UInt64) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 131 + 7) }
        #expect(bytes.withUnsafeBytes { XXHash64.hash($0) } == unseeded)
        #expect(bytes.withUnsafeBytes { XXHash64.hash($0, seed: 0x9E37_79B1) } == seeded)
    }

    @Test(
        arguments: [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ] as [(String, UInt64)]
    )
    func hashesTextAsThePublishedAlgorithm(_ text: String, _ expected: UInt64) {
        #expect(Array(text.utf8).withUnsafeBytes { XXHash64.hash($0) } == expected)
    }

    @Test func doesNotDependOnWhereTheBytesLie() {
        let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let expected = bytes.withUnsafeBytes { XXHash64.hash($0) }
        for shift in 1..<9 {
            let shifted = [UInt8](repeating: 0, count: shift) + bytes
            #expect(shifted.withUnsafeBytes { XXHash64.hash(.init(rebasing: $0[shift...])) } == expected)
        }
    }
}

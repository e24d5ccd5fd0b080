import HabitStore
import Testing

@Suite("XXH3")
struct XXHash3Tests {
    /// The values are those of the C library xxHash 0.8 (`XXH3_64bits`), for the bytes `i * 131 + 7`, with lengths on both
    /// sides of every branch of the algorithm.
    @Test(
        arguments: [
            (0, 0x2D06_8005_38D3_94C2), (1, 0x4C5C_CA45_D0F4_811F), (3, 0x6E3E_2670_E611_06AC),
            (4, 0x5C4C_6313_3443_D03F), (7, 0x46A5_C724_D51F_E43F), (8, 0xF9FD_4DD0_B04D_78F5),
            (9, 0x7C20_DF97_12C2_6EDF), (16, 0x86AB_F6BA_CCEA_0858), (17, 0xB58B_F5DC_5022_D071),
            (31, 0x4844_2FCD_5518_B086), (32, 0xE371_2ED8_4C04_A66E), (33, 0xA4DE_E99B_093E_1F73),
            (64, 0x1291_D2D4_0423_30DD), (65, 0x97C6_BF83_217E_5EC9), (96, 0x8129_6929_FC06_3365),
            (97, 0xF145_A45B_658A_B9DD), (128, 0x10D1_7F72_C0CC_BA41), (129, 0x1648_BDC3_DB49_D1A2),
            (200, 0xC0FB_C0F4_E181_C826), (240, 0xB6CF_AF34_3FAB_81E6), (241, 0x956C_AE59_2C67_279E),
            (256, 0xB15E_5507_33C5_DFAC), (512, 0xA0E9_790E_B939_90D7), (1_024, 0x70BD_377D_9574_F4BB),
            (1_025, 0x66C4_487C_41E1_27A7), (1_088, 0xF43D_C77E_28A9_ACBC), (5_000, 0xE400_7929_540F_095C),
        ] as [(Int, UInt64)]
    )
    func hashesAsThePublishedAlgorithm(_ length: Int, _ expected: UInt64) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 131 + 7) }
        #expect(bytes.withUnsafeBytes { XXHash3.hash($0) } == expected)
    }

    @Test func doesNotDependOnWhereTheBytesLie() {
        for length in [5, 80, 200, 700] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) }
            let expected = bytes.withUnsafeBytes { XXHash3.hash($0) }
            for shift in 1..<9 {
                let shifted = [UInt8](repeating: 0, count: shift) + bytes
                #expect(
                    shifted.withUnsafeBytes { XXHash3.hash(UnsafeRawBufferPointer(rebasing: $0[shift...])) } == expected
                )
            }
        }
    }
}

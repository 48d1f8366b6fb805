// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Rounds of keccak and arithmetic, and the number of calls of each wallet.
contract Compute {
    mapping(address => uint256) public count;

    error Zero();

    function run(uint256 rounds) external {
        uint256 value = rounds;
        unchecked {
            for (uint256 i = 0; i < rounds; ++i) {
                // In the scratch space: abi.encode would take new memory in each round.
                assembly {
                    mstore(0, value)
                    mstore(32, i)
                    value := keccak256(0, 64)
                }
                value = value * 3 + (value >> 7);
            }
        }
        // The compiler must not leave the rounds out.
        if (rounds > 0 && value == 0) revert Zero();
        count[msg.sender] += 1;
    }
}

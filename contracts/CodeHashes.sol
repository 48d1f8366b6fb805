// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// For the audit of deployments: the code hashes of many addresses in one call; zero where there is no account.
contract CodeHashes {
    function codeHashesOf(address[] calldata accounts) external view returns (bytes32[] memory hashes) {
        hashes = new bytes32[](accounts.length);
        for (uint256 i = 0; i < accounts.length; ++i) hashes[i] = accounts[i].codehash;
    }
}

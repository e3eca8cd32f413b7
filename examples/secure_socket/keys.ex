defmodule SecureSocket.Keys do
  # The cryptography of a connection, by OTP's :crypto: what is said when it begins, and two functions, one that seals
  # packets and one that opens them. No processes and no actors.
  #
  # A packet is `<<size::32, data::binary-size(size), hmac::binary-size(32)>>`: the data encrypted with AES-256 in
  # counter mode, then an HMAC-SHA256 over its number, its size and what was encrypted (encrypt, then authenticate).
  #
  # Invariants:
  # 1. No key is used twice with one counter: each connection has keys of its own, made of the shared secret and of what
  #    both sides said in the beginning (HKDF-SHA256, RFC 5869), one for each direction and purpose; in one direction
  #    the number of the packet is the upper half of the counter.
  # 2. The number is authenticated and never sent: a packet that is repeated, left out, out of order, sent back or taken
  #    from another connection is refused like one that was changed.
  # 3. HMACs are compared in a time that does not depend on them, and nothing is decrypted before.
  # 4. The keys are inside of the two functions: actors carry them and cannot look at them, no trace shows them.
  @moduledoc false

  @hello 16

  @type seal :: (non_neg_integer, binary -> binary)
  @type open :: (non_neg_integer, binary, binary -> {:opened, binary} | :forged)

  @doc "The bytes of a hello."
  @spec hello_size() :: pos_integer
  def hello_size, do: @hello

  @doc "What one side says in the beginning: random, and no secret."
  @spec hello() :: binary
  def hello, do: :crypto.strong_rand_bytes(@hello)

  @doc "The two functions of one side of a connection."
  @spec session(binary, :client | :server, binary, binary) :: {seal, open}
  def session(secret, :client, mine, theirs), do: functions(secret, mine <> theirs, "client", "server")
  def session(secret, :server, mine, theirs), do: functions(secret, theirs <> mine, "server", "client")

  defp functions(secret, salt, me, peer) do
    from = hmac(salt, secret)
    key = &hmac(from, "secure socket, #{&1}, #{&2}" <> <<1>>)

    {seal(key.(me, "encrypt"), key.(me, "authenticate")),
     open(key.(peer, "encrypt"), key.(peer, "authenticate"))}
  end

  defp seal(key, hmac_key) do
    fn n, data ->
      data = crypt(key, n, data, true)
      <<byte_size(data)::32, data::binary, packet_hmac(hmac_key, n, data)::binary>>
    end
  end

  defp open(key, hmac_key) do
    fn n, data, hmac ->
      if :crypto.hash_equals(packet_hmac(hmac_key, n, data), hmac),
        do: {:opened, crypt(key, n, data, false)},
        else: :forged
    end
  end

  defp crypt(key, n, data, encrypt),
    do: :crypto.crypto_one_time(:aes_256_ctr, key, <<n::64, 0::64>>, data, encrypt)

  defp packet_hmac(key, n, data), do: hmac(key, [<<n::64, byte_size(data)::32>>, data])
  defp hmac(key, data), do: :crypto.mac(:hmac, :sha256, key, data)
end

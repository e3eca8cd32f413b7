# elixir .github/checksums.exs DIRECTORY: writes the checksum files of the package for the archives in a directory, in the
# format of rustler_precompiled, which reads them when a user builds.
[directory] = System.argv()

for {crate, module} <- [mote_nif: "Mote.Native", mote_plot: "Mote.Measure.Plot.Native"] do
  archives = directory |> Path.join("lib#{crate}-v*.so.tar.gz") |> Path.wildcard() |> Enum.sort()
  if archives == [], do: raise("there is no archive of #{crate} in #{directory}")

  lines =
    for path <- archives do
      sum = :sha256 |> :crypto.hash(File.read!(path)) |> Base.encode16(case: :lower)
      ~s(  "#{Path.basename(path)}" => "sha256:#{sum}",\n)
    end

  File.write!("checksum-Elixir.#{module}.exs", ["%{\n", lines, "}\n"])
end
